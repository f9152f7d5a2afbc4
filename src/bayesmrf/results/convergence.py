"""Convergence of the chains of a run, for `fit`, summaries, the command line and reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..declare.rule import Rule, integer, optional
from ..errors import ApproximatePosteriorWarning, ConvergenceWarning
from ..findings import BAD, FAIR, GOOD, GRADES, NOTE, Finding, loaded, warn
from ..names import LONGEST, listed, shown
from .edge_evidence import Evidence
from .indicator_diagnostics import shares_that_differ, weights_that_differ
from .invalid_draws import copied_chains, invalid_values
from .judged_series import Series, evidence_of, indicators, judged_series, rare_weights, read_edges
from .marks import EDGE, GOOD_ESS, GOOD_R_HAT, shortfall_of, too_many_marked
from .rank_diagnostics import RankDiagnostics, rank_diagnostics

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

# Means need fewer draws than a good run has: with 25 effective ones a chain and four chains, their error is a tenth of
# a posterior standard deviation.
FAIR_R_HAT, FAIR_ESS = 1.05, 25
_RARELY = 0.01  # acceptance below which a warning is added
_TRIPS, _LATE = 5, 0.2  # least round trips of persistent chains that keep their mode; largest share of late steps
_LEAST = 4  # draws of a chain for R-hat
_FEWEST = 10  # draws in which a constant parameter is not due to chance
_MOST_TIMES = 20  # "... times as many draws", at most
UNSEEN, FAR, MISSING = "Unseen modes", "Approximate posterior", "Missing values"  # begin the sentences about them
NOT_CONVERGED = "not converged"  # in the name of an estimate
_STEPPED = ("metropolis", "exchange", "auxiliary-variable", "langevin")  # kernels whose step is an option


class Verdict(NamedTuple):
    """Judgement of a run: of its chains, and of everything else that `fit` doubts."""

    grade: str  # good: for means and intervals; fair: for means, or with doubts; bad: not converged, or wrong
    sentences: tuple[tuple[str, str], ...]  # severity of each, and what is wrong, by how much, and what to do

    @property
    def sentence(self) -> str:
        """All sentences as one text."""
        return " ".join(sentence for _, sentence in self.sentences)


def _is_tree(value: Any) -> bool:
    import xarray as xr

    return isinstance(value, xr.DataTree) and "posterior" in value.children


_TREE = Rule("the posterior_ of a fitted estimator", _is_tree)


def diagnostics(tree: xr.DataTree, n_worst: int | None = 5) -> pd.DataFrame:
    """Compute R-hat and effective sample sizes (Vehtari et al. 2021) of every scalar that is reported.

    Included are ``n_groups``, ``alpha``, ``density``, ``slab_scale``, ``n_field_groups`` and ``n_edges``; all
    agreements (the parameters of edges that have one each) and all other parameters, node fields and tables of
    potentials among them. If edges may be absent, these are the inclusion of each uncertain edge (0.1 to 0.9 in a
    chain), and the parameter of each edge that is present in a tenth of the draws or more: over these draws, with equal
    numbers in each chain. Of groups of people, ``included`` are the uncertain differences of edges and of parameters of
    nodes, ``difference`` those of weights between a group and the first, and ``exists`` the uncertain edges.

    Parameters
    ----------
    tree : xarray.DataTree
        From `bayesmrf.results.to_datatree`.
    n_worst : int or None
        Rows for edges and parameters, worst first; None for all. The first scalars are always included.

    Returns
    -------
    pandas.DataFrame
        Columns mean, sd, r_hat (the larger of the rank-normalised split R-hat and that of the folded draws), ess_bulk,
        ess_tail, and judged: whether the verdict depends on it. It does not on weights of edges with an inclusion below
        0.5 and a Bayes factor below 3. Constant quantities have no diagnostics (NaN); quantities that vary between
        chains only have an infinite R-hat.
    """
    _TREE.check("tree", tree)
    optional(integer(0, 2**62)).check("n_worst", n_worst)
    return of_edges(tree, evidence_of(tree), n_worst).drop(columns=EDGE)


def of_edges(tree: xr.DataTree, evidence: Evidence | None, n_worst: int | None = None) -> pd.DataFrame:
    """`diagnostics` with the edge of each weight, -1 for others; ``evidence`` is that of the run, if any."""
    import pandas as pd

    scalars, others = judged_series(tree, read_edges(tree, evidence))
    table = _table(others)
    wanted = GOOD_ESS * tree["posterior"].sizes["chain"]
    short = shortfall_of(table, GOOD_R_HAT, wanted, ["ess_bulk", "ess_tail"])
    order = np.lexsort((-short, ~table["judged"].to_numpy(dtype=bool)))
    return pd.concat([_table(scalars), table.iloc[order[:n_worst]]])


def verdict(tree: xr.DataTree, table: pd.DataFrame | None = None, evidence: Evidence | None = None) -> Verdict:
    """Judge chains, modes that particles must see, draws of approximate engines, and the independence of rows.

    Parameters
    ----------
    tree : xarray.DataTree
        From `bayesmrf.results.to_datatree`.
    table : DataFrame, optional
        That of `of_edges`, if computed already.
    evidence : Evidence, optional
        That of the run, with this table.
    """
    *judgements, chains = of_chains(tree, table, evidence)
    told = [(finding.severity, finding.text) for finding in findings_of(tree)]
    judgements += [one for one in told if one[0] == BAD]
    if chains[0] == BAD or not judgements:  # of a run that is bad otherwise, it does not matter that chains agree
        judgements.append(chains)
    judgements += [one for one in told if one[0] != BAD]
    worst = max((severity for severity, _ in judgements), key=GRADES.index)
    return Verdict(GOOD if worst == NOTE else worst, tuple(judgements))


def findings_of(tree: xr.DataTree) -> list[Finding]:
    """Return the findings of `fit` about a run, without those of `of_chains`."""
    return loaded(str(tree.attrs.get("findings", "[]")))


def of_chains(
    tree: xr.DataTree, table: pd.DataFrame | None = None, evidence: Evidence | None = None
) -> list[tuple[str, str]]:
    """Judge draws alone: return severities and sentences, that of the convergence of the chains last."""
    if invalid := invalid_values(tree):  # of which nothing else can be said
        return [(BAD, invalid)]
    wrong = [(BAD, sentence) for sentence in (copied_chains(tree), _unseen(tree), _kept_modes(tree)) if sentence]
    return [*wrong, _converged(tree, table, evidence)]


def _converged(tree: xr.DataTree, every: pd.DataFrame | None, evidence: Evidence | None) -> tuple[str, str]:
    sizes = tree["posterior"].sizes
    n_chains, n_draws = sizes["chain"], sizes["chain"] * sizes["draw"]
    if sizes["draw"] < _LEAST:
        available = f"there {'is' if sizes['draw'] == 1 else 'are'} {sizes['draw']}"
        return (BAD, f"Not judged: convergence needs {_LEAST} draws of a chain at least, {available}; use more.")
    if stuck := never_moved(tree):
        return BAD, f"Not converged: {stuck}; {_remedy(tree, 1)}."
    if every is None:
        evidence = evidence_of(tree)
        every = of_edges(tree, evidence)
    table = every[every["judged"]].dropna(subset=["ess_bulk"])
    if table.empty:
        return (FAIR, "All draws are equal: run more draws.")
    bulk, tail = float(table["ess_bulk"].min()), float(table["ess_tail"].min())
    r_hat = float(table["r_hat"].max()) if n_chains > 1 else 1.0
    wanted, enough, rarely = GOOD_ESS * n_chains, FAIR_ESS * n_chains, _rarely(tree)
    camp = tree.attrs.get("camp", "")
    fair = GOOD_R_HAT if camp else FAIR_R_HAT
    if r_hat > fair or bulk < enough:
        worst = table.iloc[int(shortfall_of(table, fair, enough, ["ess_bulk"]).argmax())]
        how = f"R-hat {worst['r_hat']:.2f}" if n_chains > 1 else "a single chain"
        how += f", bulk ESS {worst['ess_bulk']:,.0f} and tail ESS {worst['ess_tail']:,.0f} of {n_draws:,} draws"
        times = min(_MOST_TIMES, int(np.ceil(wanted / worst[["ess_bulk", "ess_tail"]].min())))
        slow = f" Nodes that are almost equal to three others ({camp}) need R-hat of {fair} at most." if camp else ""
        return (BAD, f"Not converged: {_name(worst.name)} has {how}; {_remedy(tree, times)}.{slow}{rarely}")
    if disagree := disagreement(tree, evidence):
        return BAD, f"Not converged: {disagree}; {_remedy(tree, 1)}."
    if n_chains == 1:
        where = _name(table["ess_bulk"].idxmin())
        return (FAIR, f"One chain cannot show convergence: run several. Smallest bulk ESS {bulk:,.0f} "
                       f"({where}) and tail ESS {tail:,.0f} of {n_draws:,} draws.{rarely}")  # fmt: skip
    largest, where = f"R-hat {r_hat:.3f}", _name(table["r_hat"].idxmax())
    short = [what for what, _ in lacks(table, n_chains)]
    if marked := too_many_marked(tree, every, evidence)[0]:
        short.append(marked)
    if not short:
        return (GOOD, f"Converged: largest {largest} ({where}), smallest bulk ESS "
                       f"{bulk:,.0f} and tail ESS {tail:,.0f} of {n_draws:,} draws.{rarely}")  # fmt: skip
    return (FAIR, f"Posterior means have converged (largest {largest}, {where}). Other quantities "
                   f"are still noisy: {short[0]}.{rarely}")  # fmt: skip


def lacks(table: pd.DataFrame, n_chains: int) -> list[tuple[str, str]]:
    """Return by how much the quantities of `diagnostics` miss the thresholds of a good run, and the worst of each."""
    unmet, wanted = [], GOOD_ESS * n_chains
    for name in ("tail", "bulk"):
        sizes = table[f"ess_{name}"]
        if sizes.min() < wanted:
            unmet.append((f"{name} ESS {sizes.min():,.0f}, recommended {wanted:,}", _name(sizes.idxmin())))
    if n_chains > 1 and (r_hat := table["r_hat"]).max() > GOOD_R_HAT:
        unmet.append((f"R-hat {r_hat.max():.3f}, recommended {GOOD_R_HAT}", _name(r_hat.idxmax())))
    return unmet


def warn_unless_converged(tree: xr.DataTree) -> bool:
    """Warn, as `fit` does, if chains have not converged or particles miss modes of the draws; return if neither is."""
    bad = [sentence for severity, sentence in of_chains(tree) if severity == BAD]
    if bad:
        warn(" ".join(bad), ApproximatePosteriorWarning if bad[0].startswith(UNSEEN) else ConvergenceWarning)
    return not bad


def _unseen(tree: xr.DataTree) -> str:
    """Describe a mode of the draws that the data do not have; empty if there is none."""
    if "mode_check" not in tree.children:
        return ""
    check, attrs = tree["mode_check"], tree.attrs
    worst, ratio = check.attrs, np.asarray(check.dataset["ratio"])
    if worst["ratio"] <= 1:
        return ""
    if "n_particles" in attrs:
        remedy = f"use more than {attrs['n_particles']:,} particles"
    elif attrs.get("engine") == "persistent":
        remedy = "use more particles of the engine"
    else:
        remedy = "use the engine 'persistent'"
    n_nodes, flagged = tree["constant_data"].sizes["node"], int((ratio > 1).sum())
    where = f"in {flagged} of {len(ratio)} draws checked" if flagged else f"on average over {len(ratio)} draws"
    if worst.get("group"):
        where += f" of group {_name(worst['group'])}"
    return (
        f"{UNSEEN}: {where}, states with more than {worst['most']} of {n_nodes} nodes at {_name(worst['level'])} have "
        f"a probability of at least {worst['probability']:.2g}, and a share of {worst['share']:.2g} in the data. The "
        f"particles are too few to see them: {remedy}, or use an exact method."
    )


def _kept_modes(tree: xr.DataTree) -> str:
    """Describe persistent chains whose shares of modes do not follow theta; empty if they do, or have one mode."""
    stats = tree["sample_stats"].to_dataset()
    if "round_trips" not in stats or np.isnan(trips := stats["round_trips"].values)[:, -1].all():
        return ""
    fewest, late = float(np.nanmin(trips[:, -1] - np.nan_to_num(trips[:, 0]))), float(stats["late"].mean())
    if fewest < _TRIPS:
        return (
            f"Modes: the chains behind the moments keep their mode, and came from independent nodes {fewest:.1f} times "
            f"each, too rarely for the probabilities of modes; use more draws or an exact engine."
        )
    if late > _LATE:
        return (
            f"Modes: the chains behind the moments keep their mode, and in {late:.0%} of the steps theta moved too far "
            f"for them to follow, so that probabilities of modes are wrong; use a shorter step or an exact engine."
        )
    return ""


def disagreement(tree: xr.DataTree, evidence: Evidence | None) -> str:
    """Describe what a chain has more often, or less often, than the others, or with other weights; empty if nothing.

    Weights are those that are read (`bayesmrf.results.judged_series.read_edges`), by the evidence of the run, if any.
    """
    said = []
    for names, exists in indicators(tree):
        for one in shares_that_differ(exists):
            shares = [f"{share:.3g}" for share in exists[:, :, one.item].mean(axis=1)]
            said.append((one.chance, names[one.item], f"shares of draws of {listed(shares, 8)}"))
    for names, weights, rare in rare_weights(tree, read_edges(tree, evidence)):
        for one in weights_that_differ(weights, rare):
            each = weights[:, :, one.item]
            mean = [f"{chain[chain != 0].mean():.3g}" if chain.any() else "none" for chain in each]
            said.append((one.chance, names[one.item], f"means of {listed(mean, 8)}, where it exists"))
    if not said:
        return ""
    _, name, how = min(said)
    others = f", and about {len(said) - 1} more" if len(said) > 1 else ""
    return f"the chains disagree about {_name(name)}, with {how}{others}"


def _table(series: Iterable[Series]) -> pd.DataFrame:
    import pandas as pd

    columns = ["mean", "sd", *RankDiagnostics._fields]
    parts, names, judged, edges = [], list[str](), list[bool](), list[int]()
    for s in series:
        parts.append(np.column_stack([s.draws.mean(axis=(0, 1)), s.draws.std(axis=(0, 1)), *rank_diagnostics(s.draws)]))
        names += s.names
        judged += [s.is_judged] * len(s.names)
        edges += [-1] * len(s.names) if s.edges is None else s.edges.tolist()
    table = pd.DataFrame(np.concatenate([np.empty((0, len(columns))), *parts]), index=names, columns=columns)
    return table.assign(judged=np.array(judged, dtype=bool), **{EDGE: np.array(edges, dtype=int)})


def never_moved(tree: xr.DataTree) -> str:
    """Describe chains that never moved or have a constant parameter; empty if there are none."""
    chains, acceptance = tree["posterior"].to_dataset()["chain"].values, _acceptance(tree)
    what, how = "", "acceptance 0"
    still: Any = np.zeros(len(chains), dtype=bool) if acceptance is None else np.asarray(acceptance == 0)
    parts, names = [], list[str]()
    for s in () if still.any() else judged_series(tree)[1]:
        if s.is_continuous and s.draws.shape[1] >= _FEWEST:
            # Corrected draws are linear maps of others, with rounding errors.
            parts.append(np.ptp(s.draws, axis=1) <= 1e-10 * np.abs(s.draws).max(axis=1))
            names += s.names
    if parts:
        constant = np.concatenate(parts, axis=1)
        # Parameters that are constant in all chains were given or estimated once, unless all are.
        frozen: np.ndarray = constant if constant.all() else constant & ~constant.all(axis=0)
        still, how = frozen.sum(axis=1) > 0, "its draws are all equal"
        if not constant[still].all():
            what = f"{_name(names[int(frozen.any(axis=0).argmax())])} in "
    if not still.any():
        return ""
    number = [str(c) for c in chains[still]]
    which = f"chain {number[0]}" if len(number) == 1 else f"chains {', '.join(number[:-1])} and {number[-1]}"
    return f"{what}{which} never moved ({how})"


def _name(label: object) -> str:
    """Name of a parameter, escaped for display."""
    return shown(label, 2 * LONGEST)


def _acceptance(tree: xr.DataTree) -> np.ndarray | None:
    """Compute the share of the proposals that each chain accepted, if the sampler makes proposals."""
    stats = tree["sample_stats"].to_dataset()
    for name in ("acceptance", "accepted"):
        if name in stats:
            return stats[name].values.reshape(stats.sizes["chain"], -1).astype(float).mean(axis=1)
    return None


def _rarely(tree: xr.DataTree) -> str:
    """Describe proposals that are hardly ever accepted."""
    acceptance = _acceptance(tree)
    if acceptance is None or not acceptance.min() < _RARELY:
        return _divergent(tree)
    return f" Only {acceptance.min():.1%} of the proposals of a chain are accepted: use a shorter step."


def _divergent(tree: xr.DataTree) -> str:
    """Describe trajectories of Hamiltonian dynamics that diverged."""
    stats = tree["sample_stats"].to_dataset()
    n = int(stats["diverging"].sum()) if "diverging" in stats else 0
    return f" {n:,} trajectories diverged: raise the target acceptance." if n else ""


def _remedy(tree: xr.DataTree, times: int) -> str:
    """Say what to change."""
    acceptance, kernel = _acceptance(tree), str(tree.attrs.get("kernel", ""))
    if acceptance is not None and acceptance.min() < _RARELY:
        return "use a shorter step, a longer warm-up or another method"
    draws = f"about {times} times as many draws" if times > 1 else "more draws"
    return f"use {draws}, a longer warm-up or {'another step' if kernel in _STEPPED else 'another method'}"
