"""The command ``bayesmrf evidence``: the marginal likelihood of the data under each model."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..data.files import TASK, check_path
from ..declare.option import rule_of
from ..declare.rule import SCALE, SEED, is_count
from ..errors import OptionError, StoppedWarning, argument
from ..families import FAMILIES, chosen_by_data
from ..methods import EVIDENCE
from ..names import quoted
from . import common
from .evidence_models import CODING, Job, fields, machines
from .evidence_shown import named, show_evidence
from .field_flags import flag
from .flags import BINARIZE, command, observations
from .records import Data

if TYPE_CHECKING:
    from rich.console import Console

    from ..evidence.target import Evidence
    from .evidence_store import EvidenceStore

_COMPARED = ("groups", "structure", "complete", "independent")


def methods_of_evidence() -> list[tuple[str, type]]:
    """List the names of all methods, with their classes and those of their search or sampler."""
    from ..evidence.methods import parts

    return [(row.name, type(part)) for row in EVIDENCE for part in parts(row.method)]


@command
def evidence(
    table: Path = observations(
        "ANSWERS.csv", "0/1, -1/+1 or True/False, or ordered levels (with --hidden, --binarize)"
    ),
    hidden: str | None = flag("Numbers of hidden units of the restricted Boltzmann machines to try.", "1:9|1,2,5"),
    compare: str | None = flag(
        "Models without hidden units, separated by commas: groups (edges tied as bayesmrf groups finds them), "
        "structure (edges that bayesmrf structure finds likely), complete (all edges), independent (none).",
        "groups,...",
    ),
    method: str = flag(
        f"One or more of: {', '.join(EVIDENCE.names)}.",
        "laplace,...",
        "laplace",
    ),
    prior_scale: float = flag(
        "Standard deviation of the normal prior of every weight and bias over {0, 1}.", default=1.0
    ),
    edges: Path | None = flag("Edges of structure and of groups, instead of learnt ones.", "EDGES.csv"),
    holdout: float | None = flag(
        "Share of the observations, drawn at random, from which groups and structure are learnt; the evidence is "
        "computed from the others.",
        "SHARE",
    ),
    binarize: str | None = BINARIZE,
    plot: bool = flag("Plot evidence.png in --out.", None, False, "--plot"),
    cluster: str | None = flag("Scheduler of a dask cluster that runs the models.", "tcp://HOST:PORT"),
    task: int | None = flag(
        "Compute this model alone, from 0, such as $SLURM_ARRAY_TASK_ID; the command without --task joins the results.",
        min=0,
    ),
    out: Path | None = flag(
        "Folder for the results, written as they are computed.",
        shown="ANSWERS-evidence, or ANSWERS-models with --compare",
    ),
    *,
    of_method: Annotated[dict[str, Any], methods_of_evidence],
    flags: Data,
) -> None:
    """Compare models by their evidence: numbers of hidden units, or sets of edges.

    Results are written as they are computed: a stopped run continues when the same command is given again, and
    models or methods can be added later.
    """
    from ..data.chosen_model import ordered_column
    from ..data.kinds.binarized import to_binary
    from ..data.kinds.nominal import nominal_column
    from ..data.read import read
    from ..graphs import from_edges
    from ..runs.workers import connect

    out, console = flags.path(out, "-models" if compare else "-evidence"), flags.console
    if flags.survey_weight is not None:
        expected = "omitted, as the evidence is a probability of whole observations"
        raise OptionError(option="survey_weight", got=flags.survey_weight, expected=expected)
    names = _models(hidden, compare, {"--edges": edges, "--holdout": holdout, "--neutral": flags.neutral})
    if task is not None:
        names = [_of_task(names, task, flags.overwrite, plot)]
    options = of_method | ({"ladder": _ladder(of_method["ladder"])} if "ladder" in of_method else {})
    methods = _with_options(_methods(method), options)

    SCALE.check("prior_scale", prior_scale)
    SEED.check("random_state", flags.seed)
    executor = None if cluster is None else connect(cluster)
    data, weights, _ = flags.read(takes=() if binarize is None else ("numbers",))
    if binarize is not None:
        data = to_binary(table, data, binarize)
    model: Any = CODING
    if not hidden and not flags.neutral and (column := nominal_column(data)) is not None:
        model = chosen_by_data("nominal")
        console.print(f"The model is nominal, as column {quoted(column)} has categories without order.")
        if "groups" in names:
            raise OptionError("--compare groups does not support columns without order; remove it.")
    elif not hidden and (flags.neutral or ordered_column(data) is not None):
        model = flags.around("ordinal")
        reason = "--neutral is given" if flags.neutral else "columns have more than two ordered levels"
        console.print(f"The model is ordinal, as {reason}.")
    else:
        data = to_binary(table, data, None)
    ends = None if edges is None else flags.edges(data, str(edges), "--edges")
    asked = {
        "prior_scale": prior_scale,
        "coding": CODING,
        "edges": ends,
        "holdout": holdout,
        "options": sorted(options.items()),
    }
    if flags.neutral:
        asked["neutral"] = sorted(flags.neutral)
    check_path(out, "--out: ")
    picture = out / "evidence.png"
    if plot:
        common.check_picture(picture, flags.overwrite)
    with common.about_file(table):
        states = read(data, weights, None if model == CODING else FAMILIES.read(model))
        if flags.neutral:  # refused before anything is stored
            FAMILIES.read(model).on(from_edges([], states.names), states.sizes, True)
    request = common.checksum(asked, data, weights)
    place, fresh = (out, secrets.randbits(32)) if task is None else (out / f"{TASK}{names[0]}", 0)
    from .evidence_store import opened  # imports numpy

    store = flags.context.with_resource(opened(place, request, flags.seed, fresh, flags.overwrite))
    if store.cells:
        flags.kept = f"stopped; {len(store.cells)} results are kept in {place}; give the same command again to continue"
        console.print(f"{place} contains {len(store.cells)} finished results, which are kept", soft_wrap=True)
    jobs = machines(names, data, weights, prior_scale) if hidden else fields(
        names, model, data, weights, prior_scale, ends, holdout, store.seed, not flags.quiet)  # fmt: skip
    with common.about_file(table):
        _run(jobs, methods, store, console, not flags.quiet, executor)
    flags.kept = f"stopped; the results are in {store.path}; give the same command again to print them"
    results = {m: {job.name: store.evidence(job.name, m) for job in jobs} for m in methods}

    show_evidence(results, bool(hidden), console)
    if plot:
        from .. import plots

        common.save_picture(plots.plot_evidence(results), picture)
        console.print(f"\nThe plot is {picture}", soft_wrap=True)
    console.print(f"The results are in {store.path}", soft_wrap=True)


def _methods(text: str) -> list[str]:
    methods = [part.strip() for part in text.split(",")]
    for i, name in enumerate(methods):
        if name not in EVIDENCE.names:
            expected = f"one or more of {', '.join(EVIDENCE.names)}, separated by commas"
            raise OptionError(option="--method", got=name, expected=expected)
        if name in methods[:i]:
            raise OptionError(f"--method must name each method once, got {name!r} twice.")
    return methods


def _models(hidden: str | None, compare: str | None, others: Mapping[str, Any]) -> list[Any]:
    """Read the names of the models to compare; ``others`` are the options of models without hidden units."""
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
        holdout = others["--holdout"]
        if holdout is not None and not 0 < holdout < 1:
            raise OptionError(option="--holdout", got=holdout, expected="a share between 0 and 1, such as 0.5")
        edges = others["--edges"]
        if edges is not None and not {"structure", "groups"}.intersection(names):
            raise OptionError(
                option="--edges", got=str(edges), expected="omitted unless --compare has structure or groups"
            )
        learnt = {"groups"} if edges is not None else {"groups", "structure"}
        if holdout is not None and not learnt.intersection(names):
            also = "--edges and " if edges is not None else ""
            expected = f"omitted with {also}--compare {compare}, where nothing is learnt from the share"
            raise OptionError(option="--holdout", got=holdout, expected=expected)
        return names
    for option, value in others.items():
        if value is not None:
            raise OptionError(f"--hidden does not support {option}; remove it, or use --compare instead of --hidden.")
    from ..estimators import RBM

    assert hidden is not None
    expected = "numbers of hidden units, such as 1:9 or 1,2,5"
    parts = [part.strip() for part in re.split("[:,]", hidden)]
    is_span = hidden.count(":") == 1 and len(parts) == 2
    if not all(is_count(part.removeprefix("-")) for part in parts) or (":" in hidden and not is_span):
        raise OptionError(option="--hidden", got=hidden, expected=expected)
    counts = [int(part) for part in parts]
    remedy = "--compare independent is the model without hidden units, with the same prior of its biases"
    rule = rule_of(RBM, "n_hidden")
    assert rule is not None
    rule = replace(rule, remedy=remedy)
    for k in counts:
        rule.check("--hidden", k)
    numbers = list(range(counts[0], counts[1] + 1)) if is_span else counts
    if not numbers or len(set(numbers)) < len(numbers):
        raise OptionError(option="--hidden", got=hidden, expected=expected)
    return numbers


def _of_task(names: Sequence[Any], task: int, overwrite: bool, plot: bool) -> Any:
    """Select the name of the model that a task computes."""
    for option, is_on in (("--overwrite", overwrite), ("--plot", plot)):
        if is_on:
            remedy = "remove the folder" if overwrite else "plot when the results are joined"
            raise OptionError(f"--task {task} does not support {option}; {remedy}.")
    if task >= len(names):
        raise OptionError(option="--task", got=task, expected=f"an integer from 0 to {len(names) - 1}")
    return names[task]


def _ladder(text: str) -> str | float:
    """Return the power if the text is a number, else the name of a ladder."""
    try:
        return float(text)
    except ValueError:
        return text


def _with_options(names: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return the methods by name, with the options that each has; raise OptionError for an option that none has."""
    from ..evidence.methods import option_names, with_options

    methods = {name: EVIDENCE.row(name).method for name in names}
    for option, value in options.items():
        if not any(option in option_names(method) for method in methods.values()):
            raise OptionError(f"--method {','.join(names)} does not support {argument(option, value)}; remove it.")
    return {name: with_options(method, **options) for name, method in methods.items()}


def _run(
    jobs: Sequence[Job],
    methods: Mapping[str, Any],
    store: EvidenceStore,
    console: Console,
    progress: bool,
    executor: Any,
) -> None:
    """Compute the missing results, after a check of all of them."""
    from ..estimators.evidence import label
    from ..runs.independent import run_each

    try:
        todo = []
        for job in jobs:
            lacking = [m for m in methods if (str(job.name), m) not in store.cells]
            if lacking:
                target, note = job.make()
                for m in lacking:
                    methods[m].require(target)
                todo.append((job.name, target, note, lacking))
        items = [(target, [methods[m] for m in lacking], store.seed) for _, target, _, lacking in todo]
        results: Iterable[tuple[int, Iterable[tuple[Evidence, float]]]]
        if executor is None:
            results = ((i, _evaluate(item, progress)) for i, item in enumerate(items))
        else:
            results = run_each(_evaluate_all, items, "models", executor=executor, progress=progress)
        for i, evidences in results:
            name, target, note, _ = todo[i]
            for result, seconds in evidences:
                done = label(result, target, note)
                store.add(name, done, seconds)
                console.print(f"{named(name)}, {done.method}: {done.log_evidence:,.2f}")
    except (KeyboardInterrupt, StoppedWarning):
        made = sum((str(job.name), m) in store.cells for job in jobs for m in methods)
        raise common.Stopped(f"stopped; {made} of {len(jobs) * len(methods)} results are kept in {store.path}; give "
                             "the same command again to continue") from None  # fmt: skip


def _evaluate(item: tuple[Any, list[Any], int], progress: bool) -> Iterator[tuple[Evidence, float]]:
    """Evaluate each method for a model; yield each result when it is computed, with the seconds that it took."""
    from ..evidence.methods import evaluate

    begun = time.perf_counter()
    for result in evaluate(*item, progress):
        yield result, time.perf_counter() - begun
        begun = time.perf_counter()


def _evaluate_all(item: tuple[Any, list[Any], int]) -> list[tuple[Evidence, float]]:
    """Evaluate a model in a worker."""
    return list(_evaluate(item, progress=False))
