"""What a notebook shows of a fitted estimator: headline, findings, the first rows of a table, and the network."""

from __future__ import annotations

from typing import Any

from ..answers.edges.networks import plot_evidence_network, plot_network
from ..answers.registry import main_rows
from ..answers.run.shown import verdict
from ..errors import OptionError
from ..results.summary import summarise
from ..show.page import escape, image, paragraph, table

_ROWS = 10
_STYLE = """<style>
.bayesmrf p { margin: .3rem 0; max-width: 46rem; }
.bayesmrf .verdict { border-left: 4px solid #7a8494; padding-left: .6rem; }
.bayesmrf .good { border-color: #009e73; }
.bayesmrf .fair { border-color: #e69f00; }
.bayesmrf .bad { border-color: #d55e00; }
.bayesmrf .n { text-align: right; }
.bayesmrf img { max-width: 26rem; background: #fff; }
.bayesmrf figure { margin: 0; }
</style>"""


def fragment(tree: Any) -> str:
    """Return HTML without scripts about a posterior, an xarray.DataTree."""
    s = summarise(tree)
    headline = f"<p><strong>{escape(s.headline)}.</strong></p>" if s.headline else ""
    main = main_rows(s, _ROWS)
    rows = "" if main is None else table(*main[1:])
    parts = headline, paragraph(s.data_sentence), verdict(s), rows, _network(s, tree)
    return f'<div class="bayesmrf">{_STYLE}{"".join(parts)}</div>'


def _network(s: Any, tree: Any) -> str:
    draw = plot_evidence_network if s.has_populations and s.evidence else plot_network
    try:
        return image(lambda: draw(tree), "Network")
    except OptionError:  # of a result that has no network, or several
        return ""
