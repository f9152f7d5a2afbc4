"""Objects with the options of cells, which are stored flat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from bayesmrf.declare.registries import Registry


def method_of(registry: Registry[Any], name: str, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the options of a method, and the other options."""
    own = {f.name for f in fields(registry.row(name).options)}
    method = registry.build(name, {k: v for k, v in options.items() if k in own})
    return method, {k: v for k, v in options.items() if k not in own}
