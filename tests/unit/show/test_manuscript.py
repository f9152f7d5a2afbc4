"""Text for a paper: its numbers are those of the result, and names stay text in LaTeX and Word."""

import numpy as np
import pytest

from bayesmrf import graphs, write_report
from bayesmrf.answers.run.methods_text import methods_text, paragraphs
from bayesmrf.errors import OptionError
from bayesmrf.report import manuscript
from bayesmrf.report.manuscript import escape_latex
from bayesmrf.results import save
from bayesmrf.results.summary import StructureSummary, summarise
from tests.helpers.posterior_tree import parameter_tree, posterior_tree, structure_tree
from tests.unit.show.test_networks import FACTORS, with_evidence

HOSTILE = ("a&b", "50%_$x$", r"\input{x}", "{", "</script>")


def hostile(rng):
    return with_evidence(structure_tree(rng, graphs.complete(5, HOSTILE)), FACTORS)


def test_paragraphs_have_the_numbers_of_the_result(rng):
    s = StructureSummary(with_evidence(structure_tree(rng), FACTORS))
    methods, results, references = paragraphs(s)
    assert methods.startswith(
        "We fitted a Bayesian Markov random field (model: boltzmann) to 100 observations of 5 nodes"
    )
    assert "prior of the density Beta(5, 5)" in methods
    assert "We ran 2 chains of 50 draws after 10 steps of warm-up" in methods
    assert "The posterior is approximated: expectations are estimated from simulated states" in methods
    assert f"{s.headline}." in results
    assert s.verdict.sentences[0][1] in results
    assert "above 10: included; 3 to 10: weakly included" in results
    assert s.source in references
    assert methods_text(s) == f"{methods}\n\n{results}\n\n{references}"


def test_other_results_have_paragraphs(rng):
    for tree in (parameter_tree(rng), posterior_tree(rng)):
        text = methods_text(summarise(tree))
        assert "Bayes factors" not in text
        assert "  " not in text
    exact = methods_text(summarise(structure_tree(rng, method="exact", kind="exact")))
    assert "Sampling is from the exact posterior; only Monte Carlo error remains." in exact
    bank = structure_tree(rng, bank_mean=0.012, bank_largest=0.034)
    assert "Here inclusion probabilities change by 0.012 on average and 0.034 at most." in methods_text(summarise(bank))


def test_names_are_text_in_latex(rng, tmp_path):
    text = write_report(hostile(rng), tmp_path / "r.tex", to="latex").read_text()
    assert escape_latex(r"50%_$x$ \input{x}") == r"50\%\_\$x\$ \textbackslash{}input\{x\}"
    assert r"\input" not in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 11
    n_columns = {line.replace(r"\&", "").count("&") for line in rows}
    assert len(n_columns) == 1
    depth = np.cumsum([(c == "{") - (c == "}") for c in text.replace(r"\{", "").replace(r"\}", "")])
    assert depth.min() == 0 == depth[-1]


def test_names_are_text_in_word(rng, tmp_path):
    from docx import Document

    tree = hostile(rng)
    document = Document(str(write_report(tree, tmp_path / "r.docx", to="docx")))
    (table,) = document.tables
    edges = {cell.text for cell in table.columns[0].cells[1:]}
    assert edges == {f"{a} – {b}" for a, b in StructureSummary(tree).edge_labels}
    assert [p.text for p in document.paragraphs[1:4]] == paragraphs(StructureSummary(tree))


def test_text_and_page_have_the_paragraphs(rng, tmp_path):
    tree = with_evidence(structure_tree(rng), FACTORS)
    text = write_report(tree, tmp_path / "r.txt", to="text").read_text()
    assert text.startswith(methods_text(summarise(tree)))
    assert text.count("\t") == 11 * 5
    page = write_report(tree, tmp_path / "r.html").read_text()
    assert page.index("How to report this result") < page.index("We fitted a Bayesian Markov random field")


def test_what_is_refused(rng, tmp_path, monkeypatch, bayesmrf):
    with pytest.raises(OptionError, match="to must be one of 'html', 'text', 'latex', 'docx', got 'pdf'"):
        write_report(structure_tree(rng), tmp_path / "r", to="pdf")
    monkeypatch.setattr(manuscript, "find_spec", lambda _: None)
    with pytest.raises(OptionError, match=r"as python-docx is not installed, got 'docx'; install bayesmrf\[word\]"):
        write_report(structure_tree(rng), tmp_path / "r", to="docx")
    save(structure_tree(rng), tmp_path / "run")
    code, out, _ = bayesmrf("report", "run", "--to", "latex")
    assert (code, "The report is run.tex" in out) == (0, True)
    code, _, err = bayesmrf("report", "run", "--to", "pdf")
    assert (code, "--to must be one of" in err) == (2, True)
