"""The base of slabs, the priors of the weights of edges that exist, and their registry.

A slab is one class. What the compiled samplers need of it is in `Slab.compiled`, of those of this package in
`bayesmrf.posterior.conditionals.slabs`: `bayesmrf --help` reads this module, without numba. One from outside the
package is registered by `bayesmrf.slabs.register`, which checks it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..declare.option import Checked
from ..errors import OptionError
from .inclusion import EVERY, Inclusion

KINDS: dict[str, type[Slab]] = {}  # by the names that texts begin with
REGISTERED: set[type[Slab]] = set()  # all of them, and those that another one of their name has replaced


class Present(NamedTuple):
    """Weights of the edges that exist in some draws: those of an edge, or of its difference, count together."""

    draw: np.ndarray  # (n_items,), which increase
    square: np.ndarray  # (n_items,), squared length of the weights
    size: np.ndarray  # (n_items,), how many they are


class Slab(Checked):
    """Prior of the n parameters of an edge that exists: a density of their squared length, a mixture of normal ones.

    A slab of this kind has a fixed ``scale``; its draws, its constant and its compiled leaves are its own. Its density
    may have a factor that is 0 at 0.
    """

    name: ClassVar[str] = ""  # that its text begins with
    title: ClassVar[str] = ""  # in sentences
    forms: ClassVar[tuple[str, ...]] = ()  # of its text
    is_0_at_0: ClassVar[bool] = False  # so that no edge is born with a weight near 0
    may_widen: ClassVar[bool] = False  # whether few observations do not bound its scale, which is learnt
    has_mean_log: ClassVar[bool] = True  # whether the mean of its log density is known
    inclusion: ClassVar[Inclusion] = EVERY  # as a prior of edges by itself
    has_spike: ClassVar[bool] = False
    scale: Any
    # What each class has: the constants of compiled code, a NamedTuple whose class has leaves (of slabs of this package
    # in `bayesmrf.posterior.conditionals.slabs`); the log density of n parameters at 0, of which a factor that is 0
    # there is left out; and draws (n_draws,) of squared lengths of n parameters, unless `draw` is its own.
    compiled: Callable[[], Any]
    log_constant: Callable[[int], float]
    draw_squares: Callable[[int, int, np.random.Generator], np.ndarray]

    @classmethod
    def read(cls, text: str) -> Slab:
        """Read what follows the name and a colon in a text; the scale is 1 if nothing does."""
        return cls(float(text or 1.0))  # type: ignore[call-arg]

    @property
    def words(self) -> tuple[str, str]:
        """What reports call the option, and its value."""
        return "slab", f"{type(self).__name__}(0, {self.scale:g})"

    @property
    def slab(self) -> Slab:
        """The prior of the weights of edges: itself."""
        return self

    def with_biases_of(self, prior: Any) -> Slab:
        """Return itself: it is of edges alone."""
        return self

    @property
    def fits_edges(self) -> bool:
        """Whether its constants are those of any one edge."""
        return True

    @property
    def precision(self) -> float:
        """Scale^-2, or 0 if it is learnt."""
        return float(self.scale) ** -2

    @property
    def stiffness(self) -> float:
        """About minus the second derivative of the log density at its modes, for the lengths of steps."""
        return 2 * self.precision

    def stiffness_at(self, precision: float) -> float:
        """Return the same where the scale is that of a draw."""
        return self.stiffness

    @property
    def taper_factor(self) -> float:
        """By how much the density at 0 is larger than that of its name, as weights that no data know are left out."""
        return 1.0

    def draw(self, shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
        """Draw the parameters of edges that exist, (n_draws, n_edges, n): spherical within an edge."""
        drawn = rng.standard_normal((shape[0] * shape[1], shape[2]))
        squares = self.draw_squares(shape[2], len(drawn), rng)
        return (drawn * np.sqrt(squares / (drawn**2).sum(axis=1))[:, None]).reshape(shape)

    def draw_scale(self, n_draws: int, rng: np.random.Generator) -> tuple[Any, Slab]:
        """Draw a scale of all edges of a draw, if it is learnt, and return the slab of unit scale."""
        return 1.0, self

    def draw_edges(self, sizes: np.ndarray, n_draws: int, n_copies: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the parameters of all edges, which have some ``sizes``, (n_draws, n_copies, sum of sizes)."""
        ends, drawn = np.cumsum(sizes), np.empty((n_draws, n_copies, int(sizes.sum())))
        for size in np.unique(sizes):
            same = np.flatnonzero(sizes == size)
            each = self.draw((n_draws, len(same), n_copies * int(size)), rng)
            places = (ends[same] - size)[:, None] + np.arange(size)
            drawn[:, :, places] = each.reshape(n_draws, len(same), n_copies, size).swapaxes(1, 2)
        return drawn

    def scaled(self, factor: float) -> Self:
        """Return a slab whose weights are multiplied by a factor."""
        return replace(self, scale=self.scale * float(factor))  # type: ignore[type-var]

    def factor(self, squares: np.ndarray) -> np.ndarray:
        """Return the factor of the density that is 0 at 0, 1 if it has none."""
        return np.ones_like(squares)

    def log_top(self, scales: np.ndarray) -> float:
        """Return the mean log density at 0 of one parameter, without that factor, of draws of the scale."""
        return self.log_constant(1)

    def log_joint(self, at: Callable[[float], np.ndarray], present: Present, n_draws: int) -> np.ndarray:
        """Return the log density of all weights of each draw, from ``at``, those given the precision of the slab."""
        return at(self.precision)

    def mean_logs(self, of_edge: Callable[[int], float], present: Present, n_draws: int) -> np.ndarray:
        """Return the mean of `log_joint` under the slab, (n_draws,), from that of an edge of some parameters."""
        means = {k: of_edge(k) for k in np.unique(present.size).tolist()}
        return np.bincount(present.draw, np.array([means[k] for k in present.size.tolist()]), n_draws)


def _load(file: Path) -> None:
    """Import a file of slabs as a module by its name, which other processes can import, too."""
    if not file.is_file():
        raise OptionError(option="slab", got=str(file), expected="in a file that exists")
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    module = import_module(file.stem)
    if Path(str(module.__file__)).resolve() != file.resolve():
        remedy = f"rename it, as there is another module {file.stem}"
        raise OptionError(option="slab", got=str(file), expected="a file that can be imported", remedy=remedy)


def slab_of_record(record: dict[str, Any]) -> Slab:
    """Return a slab of this package from the name of its class and its constants, as runs are stored."""
    constants = {name: value for name, value in record.items() if name != "family"}
    if isinstance(constants.get("scale"), dict):
        constants["scale"] = KINDS[""](**constants["scale"])
    return next(kind for kind in KINDS.values() if kind.__name__ == record["family"])(**constants)


def read_slab(text: str) -> Slab:
    """Read a slab from text, as on the command line: "cauchy:2.5", "normal:1", "moment:0.5", "cauchy:2,2" of a Cauchy
    slab whose scale has a Gamma prior, or "5,5" of a Gamma prior of the precision.

    A slab from outside the package begins with the file that registers it: "laplace.py:laplace:0.5".

    Raises
    ------
    OptionError
    """
    file, _, rest = text.partition(".py:")
    if rest:
        _load(Path(f"{file}.py"))
    name, _, constants = (rest or text).partition(":")
    try:
        return KINDS[name].read(constants) if name in KINDS else KINDS[""].read(text)
    except (TypeError, ValueError):
        forms = sorted((form for kind in KINDS.values() for form in kind.forms), key=lambda form: "," in form)
        raise OptionError(
            option="slab",
            got=text,
            expected=f"{', '.join(forms[:-1])}, or {forms[-1]}",
            remedy='an example is "cauchy:2.5"',
        ) from None


def require_registered(slab: Slab) -> None:
    """Refuse a slab whose density nobody has checked; as a prior of parameters it may be of any class."""
    kind = type(slab).__name__
    if type(slab) not in REGISTERED:
        raise OptionError(
            option="slab",
            got=kind,
            expected="of a class that is registered",
            remedy=f"decorate {kind} with bayesmrf.slabs.register, which checks its density",
        )
