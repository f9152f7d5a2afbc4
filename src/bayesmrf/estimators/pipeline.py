"""The one fit of the estimators of posteriors: from a table to a tree of draws, and what is to be said of them."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

from .. import results
from ..base import Kernel
from ..data.codebook import Codebook
from ..data.states import States
from ..declare.option import option, options_of
from ..declare.paths import path_of
from ..declare.rule import COLUMNS
from ..errors import BayesMRFError
from ..findings import recorded
from ..likelihood import Likelihood
from ..posterior.hidden_entries import DrawHiddenEntries
from ..progress import announced
from ..results import convergence
from ..results.stored import Kept, keep
from ..results.until_good import tell_if_short
from ..runs.run import TIMES, Draws
from ..runs.run_options import RunOptions
from .base import run_seed, sample_posterior
from .edge_evidence import EdgeTerms, add_edge_evidence
from .estimator import Estimator
from .fitted_columns import columns_kept
from .predictive_checks import Checked, check_fit
from .restored import load_as

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Setup(NamedTuple):
    """All that comes before the first draw."""

    parts: Sequence[States]  # the data, of each group of people
    likelihood: Any  # `Likelihood`, or what has its place: its model, and the data
    kernel: Kernel
    method: str  # its name
    attrs: dict[str, Any]  # of the tree: "kind", whether draws are exact, and options that summaries and reports show
    sweeps: float  # Gibbs sweeps of single particles that a step is worth; 0 where moments are exact
    seeds: Any = None  # of the run, if random numbers were drawn from them
    constant: Mapping[str, np.ndarray] = {}  # arrays that are stored with the draws
    parameters: Sequence[str] | None = None  # names of the parameters that are sampled, if theta is a map of them
    own: Any = None  # what the estimator needs after the draws
    edges: EdgeTerms | None = None  # what the evidence for edges, or differences, needs of it
    observed: Mapping[str, Any] = {}  # what is stored of the data
    correct: Callable[[Setup, Draws], Draws] = lambda _, draws: draws  # in place of what chains made, when they end
    finish: Callable[[Setup, Draws], Draws] = lambda _, draws: draws  # as they are judged and stored
    impute: Callable[[Any, Setup], None] = lambda *_: None  # store the probabilities of missing values
    judge_data: Callable[[Any, Setup], None] = lambda *_: None  # warn of the data, or of all chains
    check: Callable[[Any, Setup, np.random.Generator], Checked | None] = lambda *_: None  # by predicted tables


@dataclass(eq=False, repr=False, kw_only=True)
class Sampled(Estimator, RunOptions):
    """Estimators that sample a posterior, all by one fit.

    Such an estimator prepares what comes before the first draw, judges data and model, and sums up the draws. Tables
    and the report are imported on first use.

    Parameters
    ----------
    columns : path, DataFrame, `bayesmrf.data.Codebook` or None
        What each column is: a table of `bayesmrf.data.read_columns`, as it is or edited. None reads it from the values
        of a DataFrame; ``columns_`` says what each column was read as.
    """

    columns: Any = option(None, COLUMNS)

    def _html_repr(self) -> Any:
        """Return HTML for notebooks: the result of the fit, or the parameters as scikit-learn shows them."""
        if not (self.__sklearn_is_fitted__() and self._outcome()):
            return super()._html_repr()  # type: ignore[misc]
        from ..report.notebook import fragment

        return fragment(self.posterior_)

    def _repr_mimebundle_(self, **more: Any) -> dict[str, str]:
        """Return what a notebook shows; text alone if that is how scikit-learn is set to show estimators."""
        bundle = super()._repr_mimebundle_(**more)
        has_page = get_config()["display"] == "diagram" and self.__sklearn_is_fitted__() and self._outcome()
        return bundle | {"text/html": self._html_repr()} if has_page else bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the fitted estimator of a stored run, which tabulates, predicts and scores as the one that was saved.

        Parameters
        ----------
        path : path
            The folder of a run.

        Raises
        ------
        StoreError
            If there is no finished run of this class.
        """
        return load_as(cls, path)

    @recorded
    def _fit(self, *data: Any) -> Any:
        began = time.monotonic()
        s = self._prepare(*data)
        seeds = run_seed(self) if s.seeds is None else s.seeds
        declared = options_of(type(self))  # reports show those with a label
        labelled = {name: getattr(self._settings, name) for name, about in declared.items() if about.label}
        s = s._replace(seeds=seeds, attrs=labelled | s.attrs | columns_kept(self))
        several = {"group": len(self._labels)} if len(self._labels) else {}
        judged: list[xr.DataTree] = []  # the tree of the last look that had evidence

        def add_evidence(tree: xr.DataTree) -> None:
            if s.edges is not None:
                with announced(f"Bayes factors of {len(tree['constant_data']['edges']):,} edges", self.progress):
                    add_edge_evidence(tree, s.likelihood, s.edges, seeds)
                judged[:] = [tree]

        started = time.monotonic()
        made = sample_posterior(
            self, s.likelihood.model, s.kernel, seeds, lambda d: self._tree(s, s.finish(s, d)), add_evidence,
            **several,
        )  # fmt: skip
        sampled = time.monotonic()
        corrected = s.correct(s, made)
        draws = s.finish(s, corrected)
        self.posterior_ = self._tree(s, draws)
        keep(self.posterior_, self._kept())
        with announced("probabilities of missing values", self.progress):
            s.impute(self, s)
        if corrected is made and judged and judged[0]["posterior"].sizes["draw"] == draws.n_draws:
            self.posterior_["edge_evidence"] = judged[0]["edge_evidence"]
        else:
            add_evidence(self.posterior_)
        with announced("convergence of all parameters", self.progress):
            self._summarise()
            s.judge_data(self, s)
            tell_if_short(draws)
            has_converged = convergence.warn_unless_converged(self.posterior_)
        with announced("checks of the model and of the posterior", self.progress):
            check_fit(self, s, seeds, has_converged)
            self._doubt(s, draws, has_converged)
        self.posterior_.attrs |= {TIMES[0]: started - began, TIMES[1]: time.monotonic() - sampled}
        return self

    def _tree(self, setup: Setup, draws: Draws) -> xr.DataTree:
        """Return the draws with all that is stored with them."""
        return results.to_datatree(
            draws,
            setup.likelihood.model,
            attrs=setup.attrs,
            observed=setup.observed,
            constant=setup.constant,
            parameters=setup.parameters,
            groups=[str(label) for label in self._labels] or None,
        )

    def _kept(self) -> Kept:
        """Return what is stored of this estimator."""
        parameters = self.get_params(deep=False)
        parameters["columns"] = None if self._settings.columns is None else Codebook.read(self._settings.columns)
        is_named = "feature_names_in_" in self._of_fit
        return Kept(type(self).__name__, parameters, self._graph, self._coding, list(self._labels), is_named)

    @property
    def feature_names_(self) -> np.ndarray:
        """Names of the entries of ``theta_``; (n_features,) array of str: see the class."""
        check_is_fitted(self)
        return np.array(self.posterior_["posterior"].dataset["feature"].values.tolist(), dtype=object)

    def _outcome(self) -> list[str]:
        from ..results.summary import summarise

        with suppress(BayesMRFError):  # draws of a user may be anything, and what shows an object must not fail
            return summarise(self).outcome
        return []

    def table(self, name: str, probability: float = 0.9, edge: Any = None) -> pd.DataFrame:
        """Return a table of results, with the columns that the command line and the report show.

        Parameters
        ----------
        name : str
            "edges", "nodes", "convergence" and "findings"; "statistics" where edges have weights; "structures" and
            "n-edges" if edges may be absent; "columns", what they were read as; "missing" if values were missing; of
            `GroupedMRF` also "groups", "node-groups", "partitions" and "potentials"; of `CompareMRF` "differences" and
            "node-differences"; of `BayesianMRF` "parameters" and
            "strength"; of the model "nominal" "log_odds". An unknown name is answered by those that this result has.
        probability : float
            Of the central intervals, ``lower`` and ``upper``.
        edge : (str, str), optional
            Names of two columns: the rows of this edge alone, of a table with rows of edges.

        Returns
        -------
        DataFrame
            All rows, with unrounded numbers; `DataFrame.to_csv` exports it. What is not known, such as the weight of an
            edge that never exists, is NaN.
        """
        from ..answers.registry import table_of
        from ..show.tables import part_of

        return part_of(table_of(self, name, probability).frame, edge)

    def matrix(self, column: str = "inclusion") -> pd.DataFrame:
        """Return a column of the table of edges, or of differences, as a matrix with the names of the nodes.

        Parameters
        ----------
        column : str
            Such as "inclusion", "weight", "bayes_factor" or "evidence": see `table`.

        Returns
        -------
        DataFrame
            (n_nodes, n_nodes), symmetric, with NaN for pairs that are no candidates and on the diagonal. That of
            `PanelMRF` has a row for each source and a column for each target.
        """
        from ..answers.registry import matrix_of

        return matrix_of(self, column)

    def plot(self, kind: str = "network", path: str | PathLike[str] | None = None, **options: Any) -> Any:
        """Draw a figure for a paper, and write it to a file; see `bayesmrf.plots.figure` for kinds and options.

        Parameters
        ----------
        kind : str
            Such as "network", "evidence", "edges", "differences", "inclusion", "statistics" or "trace".
        path : path, optional
            File to write, which is replaced: named .svg, .pdf or .png.
        **options
            ``labels``, ``groups``, ``layout``, ``shown``, ``node_size``, ``width``, ``theme`` and ``probability``.

        Returns
        -------
        matplotlib.axes.Axes, or an array of them
        """
        from ..plots import figure

        return figure(self, kind, path, **options)

    def export(
        self, out: str | PathLike[str], to: str, overwrite: bool = False, spreadsheet_safe: bool = False
    ) -> Path:
        """Write every table for other programs, as "csv", "json" or "graphml"; see `bayesmrf.export`."""
        from ..report.export import export

        return export(self, out, to, overwrite, spreadsheet_safe)

    def report(
        self, path: str | PathLike[str], overwrite: bool = False, to: str = "html", nodes: pd.DataFrame | Any = None
    ) -> Path:
        """Write one self-contained HTML file, or text for a paper; see `bayesmrf.write_report`."""
        from ..report import write_report

        return write_report(self, path_of("path", path), overwrite, to, nodes)

    def methods_text(self) -> str:
        """Return paragraphs for a paper: data, model, priors and sampler; convergence, results and checks; references.

        ``report(path, to="latex")`` or ``to="docx"`` writes them with the table of the edges.
        """
        from ..answers.run.methods_text import methods_text
        from ..results.summary import summarise

        return methods_text(summarise(self))

    @abstractmethod
    def _prepare(self, X: Any, *rows: Any) -> Setup:
        """Return all that comes before the first draw, or refuse options or data."""

    @abstractmethod
    def _summarise(self) -> None:
        """Set the attributes that sum up the tree, and depend on it alone."""

    def _doubt(self, setup: Setup, draws: Draws, has_converged: bool) -> None:
        """Warn of what this estimator alone has."""


def completed(kernel: Any, likelihood: Likelihood) -> Any:
    """Return a kernel for complete data with missing ones drawn before each step, if there are any."""
    if all(sample.hidden is None for sample in likelihood.samples):
        return kernel
    return DrawHiddenEntries(kernel, likelihood)
