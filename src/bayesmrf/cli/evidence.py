"""The command ``bayesmrf evidence``: the marginal likelihood of the data under each model."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OptionError, StoreError, argument
from ..files import check_path
from ..options import OPTIONS, check
from ..rules import is_count
from . import common
from .common import Binarize, Drop, MissingCode, Overwrite, Quiet, Seed, Weight
from .evidence_models import CODING, Job, fields, machines
from .evidence_shown import named, show_evidence
from .evidence_store import EvidenceStore, opened, request_of

if TYPE_CHECKING:
    from rich.console import Console

_COMPARED = ("groups", "structure", "complete", "independent")
_MARK = "bayesmrf"


def evidence(
    context: typer.Context,
    answers: Annotated[
        Path,
        typer.Argument(
            metavar="ANSWERS.csv",
            help="Table with one row per observation and one column per node, named in the first line; 0/1, -1/+1 or "
            "True/False, or ordered levels with --binarize. May be compressed (.csv.gz).",
        ),
    ],
    hidden: Annotated[
        str | None,
        typer.Option(metavar="1:9|1,2,5", help="Numbers of hidden units of the restricted Boltzmann machines to try."),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="groups,...",
            help="Models without hidden units, separated by commas: groups (edges tied as bayesmrf groups finds them), "
            "structure (edges that bayesmrf structure finds likely), complete (all edges), independent (none).",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="laplace,...",
            help="One or more of: laplace, laplace0, map, bic, harmonic-1, harmonic-4, bridge-geometric, "
            "bridge-optimal, dic, ais, cross-validation, conjugate.",
        ),
    ] = "laplace",
    prior_scale: Annotated[
        float, typer.Option(help="Standard deviation of the normal prior of every weight and bias over {0, 1}.")
    ] = 1.0,
    edges: Annotated[
        Path | None, typer.Option(metavar="EDGES.csv", help="Edges of structure and of groups, instead of learnt ones.")
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the observations, drawn at random, from which groups and structure are learnt; the evidence "
            "is computed from the others.",
        ),
    ] = None,
    binarize: Binarize = None,
    n_chains: Annotated[
        int | None, typer.Option(help="Chains of annealing and of MCMC. [dim]\\[default: the method's][/dim]")
    ] = None,
    temperatures: Annotated[
        int | None, typer.Option(help="Temperatures of annealing. [dim]\\[default: the method's][/dim]")
    ] = None,
    ladder: Annotated[
        str | None,
        typer.Option(
            metavar="cubic|linear|POWER",
            help="Spacing of the temperatures of ais: equal steps raised to a power, such as 3 (cubic) or 1 (linear). "
            "[dim]\\[default: cubic][/dim]",
        ),
    ] = None,
    n_draws: Annotated[
        int | None, typer.Option(help="Posterior draws per chain. [dim]\\[default: the method's][/dim]")
    ] = None,
    weight: Weight = None,
    drop: Drop = None,
    missing_code: MissingCode = None,
    seed: Seed = None,
    plot: Annotated[bool, typer.Option("--plot", help="Plot evidence.png in --out.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the results, written as they are computed. "
            "[dim]\\[default: ANSWERS-evidence, or ANSWERS-models with --compare][/dim]"
        ),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Compare models by their evidence: numbers of hidden units, or sets of edges.

    Results are written as they are computed: a stopped run continues when the same command is given again, and
    models or methods can be added later.
    """
    from ..answers import to_binary
    from ..tables import read_votes

    out = out or Path(f"{common.stem_of(answers)}-{'models' if compare else 'evidence'}")
    console = common.new_console(quiet)
    names = _models(hidden, compare, edges, holdout)
    given = {"n_chains": n_chains, "temperatures": temperatures, "ladder": _ladder(ladder), "n_draws": n_draws}
    options: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
    methods = _with_options(_methods(method), options)

    check({"prior_scale": prior_scale, "random_state": seed})
    table, weights = read_votes(answers, weight, drop or (), missing_code or ())
    table = to_binary(answers, table, binarize)
    ends = None
    if edges is not None:
        ends = common.edges_of(str(edges), [str(c) for c in table.columns], console, "--edges")
    asked = {
        "prior_scale": prior_scale,
        "coding": CODING,
        "edges": ends,
        "holdout": holdout,
        "options": sorted(options.items()),
    }
    check_path(out, "--out: ")
    picture = out / "evidence.png"
    if plot and picture.exists() and not overwrite and _MARK.encode() not in picture.read_bytes()[:1000]:
        raise StoreError(f"--out: {picture} exists and was not written by bayesmrf; give another path.")
    with common.about_file(answers):
        _check_table(table, weights)
    request = request_of(table, weights, asked)
    store = context.with_resource(opened(out, request, seed, secrets.randbits(32), overwrite))
    if store.cells:
        console.print(f"{out} contains {len(store.cells)} finished results, which are kept", soft_wrap=True)
    jobs = machines(names, table, weights, prior_scale) if hidden else fields(
        names, table, weights, prior_scale, ends, holdout, store.seed, not quiet)  # fmt: skip
    with common.about_file(answers):
        _run(jobs, methods, store, console, not quiet)
    results = {m: {job.name: store.evidence(job.name, m) for job in jobs} for m in methods}

    show_evidence(results, bool(hidden), console)
    if plot:
        from .. import plots

        figure: Any = plots.plot_evidence(results).get_figure(root=True)
        figure.savefig(picture, dpi=150, metadata={"Software": _MARK})
        console.print(f"\nThe plot is {picture}", soft_wrap=True)
    console.print(f"The results are in {store.path}", soft_wrap=True)


def _methods(text: str) -> list[str]:
    from ..evidence.methods import METHODS

    methods = [part.strip() for part in text.split(",")]
    for i, name in enumerate(methods):
        if name not in METHODS:
            expected = f"one or more of {', '.join(METHODS)}, separated by commas"
            raise OptionError(option="--method", got=name, expected=expected)
        if name in methods[:i]:
            raise OptionError(f"--method must name each method once, got {name!r} twice.")
    return methods


def _models(hidden: str | None, compare: str | None, edges: Path | None, holdout: float | None) -> list[Any]:
    """Return the names of the models to compare."""
    if (hidden is None) == (compare is None):
        raise OptionError(
            f"give either --hidden 1:9, for machines with hidden units, or --compare {','.join(_COMPARED)}, for models "
            f"without; got {'both' if hidden else 'neither'}."
        )
    if compare is not None:
        names = [part.strip() for part in compare.split(",")]
        for i, name in enumerate(names):
            if name not in _COMPARED or name in names[:i]:
                expected = f"one or more of {', '.join(_COMPARED)}, separated by commas and each once"
                raise OptionError(option="--compare", got=name, expected=expected)
        if holdout is not None and not 0 < holdout < 1:
            raise OptionError(option="--holdout", got=holdout, expected="a share between 0 and 1, such as 0.5")
        return names
    for flag, value in (("--edges", edges), ("--holdout", holdout)):
        if value is not None:
            raise OptionError(f"--hidden does not support {flag}; remove it, or use --compare instead of --hidden.")
    assert hidden is not None
    expected = "numbers of hidden units, such as 1:9 or 1,2,5"
    parts = [part.strip() for part in re.split("[:,]", hidden)]
    is_span = hidden.count(":") == 1 and len(parts) == 2
    if not all(is_count(part.removeprefix("-")) for part in parts) or (":" in hidden and not is_span):
        raise OptionError(option="--hidden", got=hidden, expected=expected)
    given = [int(part) for part in parts]
    remedy = "--compare independent is the model without hidden units, with the same prior of its biases"
    rule = replace(OPTIONS["n_hidden"], remedy=remedy)
    for k in given:
        rule.check("--hidden", k)
    numbers = list(range(given[0], given[1] + 1)) if is_span else given
    if not numbers or len(set(numbers)) < len(numbers):
        raise OptionError(option="--hidden", got=hidden, expected=expected)
    return numbers


def _ladder(text: str | None) -> str | float | None:
    """Return the power if the text is a number, else the name of a ladder."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _with_options(names: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return the methods by name, with the options that each has; raise OptionError for an option that none has."""
    from ..evidence.methods import METHODS, option_names, with_options

    methods = {name: METHODS[name].method for name in names}
    for option, value in options.items():
        if not any(option in option_names(method) for method in methods.values()):
            raise OptionError(f"--method {','.join(names)} does not support {argument(option, value)}; remove it.")
    return {name: with_options(method, **options) for name, method in methods.items()}


def _check_table(table: Any, weights: Any) -> None:
    from ..states import check_states

    check_states(table, weights)


def _run(
    jobs: Sequence[Job],
    methods: Mapping[str, Any],
    store: EvidenceStore,
    console: Console,
    progress: bool,
) -> None:
    """Compute the missing results, after a check of all of them."""
    from ..estimators.evidence import label
    from ..evidence.methods import evaluate

    try:
        todo = []
        for job in jobs:
            lacking = [m for m in methods if (str(job.name), m) not in store.cells]
            if lacking:
                target, note = job.make()
                for m in lacking:
                    methods[m].require(target)
                todo.append((job.name, target, note, lacking))
        for name, target, note, lacking in todo:
            begun = time.perf_counter()
            for found in evaluate(target, [methods[m] for m in lacking], store.seed, progress):
                done = label(found, target, note)
                store.add(name, done, time.perf_counter() - begun)
                begun = time.perf_counter()
                console.print(f"{named(name)}, {found.method}: {done.log_evidence:,.2f}")
    except KeyboardInterrupt:
        made = sum((str(job.name), m) in store.cells for job in jobs for m in methods)
        raise common.Stopped(f"stopped; {made} of {len(jobs) * len(methods)} results are kept in {store.path}; give "
                             "the same command again to continue") from None  # fmt: skip
