"""Communities of nodes: numbers from draws, tables, pictures, reports, stored runs and the shell."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesmrf as package
from bayesmrf import CompareMRF, SpikeSlabMRF, plots, write_report
from bayesmrf.errors import OptionError
from bayesmrf.priors import Beta, Blocks, SpikeSlab
from bayesmrf.results.communities import Communities, blocks_of, communities_of, draw_log_odds
from bayesmrf.results.summary import summarise
from tests.helpers.commands import one_sentence
from tests.oracle import blocks as blocks_oracle
from tests.oracle.bounds import assert_mean

QUICK = {"n_draws": 60, "n_warmup": 20, "n_chains": 2, "progress": False, "random_state": 1}
PRIOR = Blocks(within=Beta(3.0, 1.0), between=Beta(1.0, 4.0))
NAMES = list("abcdef")


def two_sides(rng, n=400):
    """Two groups of three columns, each of which is nearly the same in a group."""
    sides = np.repeat(rng.integers(0, 2, (n, 2)), 3, axis=1)
    return pd.DataFrame(np.where(rng.random((n, 6)) < 0.15, 1 - sides, sides), columns=NAMES)


@pytest.fixture(scope="module")
def fitted(module_rng):
    return SpikeSlabMRF(prior=SpikeSlab(PRIOR), **QUICK).fit(two_sides(module_rng))


def test_numbers_of_blocks(rng):
    """Shares of draws, prior by enumeration, and factors: odds against one block over those of the prior."""
    draws = np.array([[[0, 0, 0, 0]] * 2 + [[0, 0, 1, 1]] * 5 + [[0, 1, 2, 0]] * 3] * 2)
    found = Communities(draws, PRIOR, np.array(list("abcd"), dtype=object))
    prior = np.bincount(
        [max(z) for z in blocks_oracle.partitions(4)],
        np.exp([blocks_oracle.log_prior(z, PRIOR) for z in blocks_oracle.partitions(4)]),
    )
    table = found.numbers
    assert table["blocks"].tolist() == ["2 or more", "1", "2", "3"]
    np.testing.assert_allclose(table["probability"], [0.8, 0.2, 0.5, 0.3])
    np.testing.assert_allclose(table["prior"], [1 - prior[0], *prior[:3]])
    expected = [4 / ((1 - prior[0]) / prior[0]), 1, 2.5 / (prior[1] / prior[0]), 1.5 / (prior[2] / prior[0])]
    np.testing.assert_allclose(table["bayes_factor"], expected)
    assert set(table["bound"]) == {""}
    assert found.factor(3, 2) == pytest.approx(0.6 / (prior[2] / prior[1]))
    together = found.together
    assert (together[0, 1], together[0, 3], together[2, 3]) == (0.7, 0.5, 0.7)
    assert found.allocation.tolist() == [1, 1, 2, 2]
    np.testing.assert_allclose(found.members["probability"], [0.7, 0.7, 0.7, 0.7])
    never = Communities(draws[:, 2:], PRIOR, np.array(list("abcd"), dtype=object))
    first = never.numbers.iloc[0]
    assert first["bound"] == ">"
    assert never.numbers["bound"].tolist() == [">", "", ">", ">"]
    assert first["bayes_factor"] == pytest.approx(16 / ((1 - prior[0]) / prior[0]))  # as if one of 16 draws had one
    assert "Bayes factor of two or more blocks against one is > " in never.sentence
    one = Communities(draws[:, :2], PRIOR, np.array(list("abcd"), dtype=object)).numbers
    assert one["bound"].tolist() == ["<", "", "<"]
    assert one["error"].isna().all()


def test_what_is_said_of_two_sides(fitted):
    assert fitted.communities_.tolist() == [1, 1, 1, 2, 2, 2]
    members, numbers = fitted.table("communities"), fitted.table("blocks")
    assert members["node"].tolist() == NAMES
    assert (members["probability"] > 0.5).all()
    assert numbers["bayes_factor"][0] > 1
    draws = fitted.posterior_["posterior"]
    np.testing.assert_array_equal(draws["n_blocks"], draws["blocks"].max("node") + 1)
    assert "blocks" not in draws.data_vars  # labels have no meaning
    assert "n_blocks" in package.results.diagnostics(fitted.posterior_).index
    assert {"bridge strength"} <= set(fitted.statistics()["statistic"])
    assert summarise(fitted).density_sentence.startswith("Mean density of blocks 0.")
    assert summarise(fitted).prior_options["prior of edges"].startswith("Blocks(partition='mixture'")


def test_a_stored_run_and_its_report(fitted, tmp_path):
    package.results.save(fitted, tmp_path / "run")
    back = package.load(tmp_path / "run")
    assert back.prior.density == PRIOR
    assert blocks_of(back.posterior_) == PRIOR
    pd.testing.assert_frame_equal(back.table("blocks"), fitted.table("blocks"))
    assert back.communities_.tolist() == fitted.communities_.tolist()
    page = write_report(back, tmp_path / "report.html").read_text()
    assert "Nodes are in 2 communities; " in page
    assert page.index("Communities</h2>") < page.index("Number of blocks of nodes")


def test_pictures(fitted):
    ax = plots.plot_co_clustering(fitted)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("nodes, by community", "nodes, by community")
    network = plots.plot_network(fitted)
    assert len({tuple(c) for c in network.collections[-1].get_facecolors()}) == 2
    labels = [text.get_text() for text in network.get_legend().get_texts()]
    assert {"community 1", "community 2"} <= set(labels)


def test_probability_of_an_edge_before_data(rng):
    """By draws of partitions of two nodes; and log odds given blocks, by the means of Beta distributions."""
    same = np.exp(blocks_oracle.log_prior((0, 0), PRIOR))
    assert PRIOR.mean() == pytest.approx(0.75 * same + 0.2 * (1 - same))
    edges = np.array([[0, 1], [0, 2], [1, 2], [2, 3]])
    blocks, included = np.tile([0, 0, 1, 1], (4000, 1)), np.tile([True, False, True, False], (4000, 1))
    odds = draw_log_odds(rng, PRIOR, blocks, included, edges)
    assert (odds[:, 1] == odds[:, 2]).all()
    assert_mean((1 / (1 + np.exp(-odds)))[:, None, [0, 1, 3]], [4 / 5, 2 / 7, 3 / 5])


def test_blocks_are_refused_elsewhere(rng):
    x = two_sides(rng, 40)
    for options in ({"prior": SpikeSlab(Blocks())}, {"baseline": SpikeSlab(Blocks())}):
        with pytest.raises(OptionError, match=r"density must be other than blocks of nodes for groups of people, got"):
            CompareMRF(**options, **QUICK).fit(x, groups=np.arange(40) % 2)
    est = SpikeSlabMRF(**QUICK).fit(x)
    assert communities_of(est.posterior_) is None
    assert {"blocks", "communities"}.isdisjoint(package.answers.registry.names_of(est))
    with pytest.raises(OptionError, match="this one has no groups"):
        plots.plot_co_clustering(est)
    for given in ({"partition": "other"}, {"rate": 0.0}, {"within": 0.5}, {"concentration": -1.0}):
        with pytest.raises(OptionError, match=next(iter(given))):
            Blocks(**given)


def test_in_the_shell(bayesmrf, folder, rng):
    two_sides(rng).to_csv("answers.csv", index=False)
    small = ["--n-draws", "30", "--n-warmup", "10", "--n-chains", "2"]
    code, out, err = bayesmrf("structure", "answers.csv", "--blocks", "mixture", "--out", "run", *small)
    assert code == 0, err
    assert "Communities: nodes are in" in " ".join(out.split())
    kept = json.loads(package.results.load("run").attrs["prior"])
    assert kept["density"]["partition"] == "mixture"
    one_sentence(
        bayesmrf("structure", "answers.csv", "--blocks", "mixture", "--density", "0.2"), "--density must be omitted"
    )
    one_sentence(bayesmrf("structure", "answers.csv", "--blocks", "three"), "--blocks must be one of")
