"""``bayesmrf evidence``: hidden units, models without any, results kept as they come, bad input."""

import inspect
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import pytest

from bayesmrf import RBM, BayesianMRF, GroupedMRF, SpikeSlabMRF, compare_evidence, log_evidence
from bayesmrf.cli import evidence_store
from bayesmrf.cli.evidence import evidence
from bayesmrf.cli.evidence_models import _split
from bayesmrf.declare.option import option, options_of
from bayesmrf.errors import OptionError
from bayesmrf.evidence import methods
from bayesmrf.evidence.annealed import AIS
from bayesmrf.evidence.method import Method
from bayesmrf.evidence.target import Evidence
from bayesmrf.methods import EVIDENCE
from bayesmrf.methods.evidence import EvidenceRow
from bayesmrf.runs.lock import hold
from tests.helpers.commands import one_sentence

FOLDER = "votes-evidence"


@pytest.fixture
def linked(votes):
    """The same votes, Bob and Cid with Ann in nine of ten."""
    for name, rest in (("Bob", 9), ("Cid", 3)):
        votes[name] = votes["Ann"] ^ (np.arange(60) % 10 == rest)
    votes.to_csv("votes.csv", index=False)
    return votes


@dataclass(frozen=True, eq=False, kw_only=True)
class Fake(Method):
    """A method in the place of that called ``called``."""

    called: str
    function: Callable
    n_chains: int = 7
    ladder: str | float = option("cubic", options_of(AIS)["ladder"].rule, "Spacing.", label="ladder")

    @property
    def name(self):
        return self.called

    def _estimate(self, target, rng, work, progress):
        value, *more = self.function(self, target, rng)
        return target.evidence(self.called, value, *more)


@pytest.fixture
def fake(monkeypatch):
    """Put a function (method, target, rng) -> value, standard error, ... in the place of a method."""

    def put(name, function):
        home = partial(Fake, called=name, function=function)
        fakes = {name: EvidenceRow(name, home, "approximate", "nothing", "Fake.")}
        monkeypatch.setattr(EVIDENCE, "rows", tuple(fakes.get(row.name, row) for row in EVIDENCE))

    return put


@pytest.fixture
def quick(fake):
    """A method that takes no time, and what it was called for."""
    calls = []

    def bic(method, target, rng):
        calls.append((target.n_features, method.n_chains))
        value = -100.0 - abs(target.n_features - 17) + 1e-3 * rng.random()
        return value, 0.25, {"data": -90.0, "nothing": np.nan}

    fake("bic", bic)
    return calls


def cells(folder=FOLDER):
    """What is kept, by model and method."""
    with open(f"{folder}/evidence.jsonl") as file:
        return {(c["model"], c["method"]): c for c in map(json.loads, list(file)[1:])}


def rows(out):
    """Cells of the tables printed."""
    return [[c.strip() for c in line.strip("│").split("│")] for line in out.splitlines() if line.startswith("│")]


def test_hidden_units(bayesmrf, linked, folder):
    code, out, err = bayesmrf("evidence", "votes.csv", "--hidden", "1:2", "--method", "laplace,map", "--seed", 3,
                              "--plot")  # fmt: skip
    assert code == 0
    text = " ".join(out.split())
    direct = {
        m: {k: log_evidence(RBM(n_hidden=k), linked, m, random_state=3, progress=False) for k in (1, 2)}
        for m in ("laplace", "map")
    }
    for method, found in direct.items():
        for k, e in found.items():
            kept = cells()[str(k), method]
            assert (kept["log_evidence"], kept["data_hash"]) == (e.log_evidence, e.data_hash)
            assert kept["parts"] == {name: pytest.approx(v) for name, v in e.parts.items()}
            assert kept["seconds"] > 0
            assert e.status in err
    laplace = direct["laplace"]
    best = max(laplace, key=lambda k: laplace[k].log_evidence)
    shown = rows(out)
    assert [r[0] for r in shown] == ["1", "2"] * 2
    assert [r[1] for r in shown[2:]] == ["11", "17"]
    for k, row in zip((1, 2), shown[:2], strict=True):
        e = laplace[k]
        mark = "".join(m for m, there in (("*", k == best), ("!", e.status)) if there)
        error = f" ± {e.standard_error:.2f}" if e.standard_error > 0 else ""
        assert row[1] == f"{e.log_evidence:,.2f}{error} {mark}".strip()
        assert row[2].startswith(f"{direct['map'][k].log_evidence:,.2f}")
        assert shown[k + 1][2] == f"{e.log_evidence / 60:.4f} {mark}".strip()
    assert "60 observations; prior of the parameters: normal, scale 1, on weights and biases over {0, 1}" in text
    probability = compare_evidence(laplace)["probability"][best]
    units = "1 hidden unit" if best == 1 else "2 hidden units"
    assert f"laplace favours {units} (probability {probability:.3f})" in text
    assert "Probabilities assume that all these models are equally probable a priori." in text
    assert "map favours" in text
    assert (folder / FOLDER / "evidence.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BoundaryWarning")
def test_models_without_hidden_units(bayesmrf, linked):
    linked = linked[["Ann", "Bob", "Dot"]]
    linked.to_csv("votes.csv", index=False)
    code, out, err = bayesmrf("evidence", "votes.csv", "--compare", "groups,structure,complete,independent",
                              "--method", "laplace", "--seed", 2)  # fmt: skip
    assert code == 0
    groups = GroupedMRF("complete", fields=True, random_state=2, progress=False).fit(linked)
    structure = SpikeSlabMRF(method="exact", random_state=2, progress=False).fit(linked)
    models = {"groups": groups} | {
        name: BayesianMRF(graph)
        for name, graph in (("structure", structure.graph_), ("complete", "complete"), ("independent", []))
    }
    for name, model in models.items():
        direct = log_evidence(model, linked, prior_scale=1.0, coding="boltzmann", random_state=2, progress=False)
        assert cells("votes-models")[name, "laplace"]["log_evidence"] == direct.log_evidence
        assert cells("votes-models")[name, "laplace"]["n_features"] == direct.n_features
    assert [r[0] for r in rows(out)] == ["groups", "structure", "complete", "independent"] * 2
    assert (
        "warning: groups (laplace): its groups were learnt from the same data, which favours the model; see --holdout"
        in err
    )
    assert "warning: structure (laplace): its edges were learnt from the same data" in err
    assert "complete (" not in err


@pytest.mark.parametrize(("given", "message"), [("Zoe=1", "there is no column 'Zoe'"), ("Ann=1", "three levels")])
def test_neutral_categories_that_cannot_be_store_nothing(given, message, bayesmrf, votes, folder):
    one_sentence(bayesmrf("evidence", "votes.csv", "--compare", "independent", "--neutral", given), message)
    assert {p.name for p in folder.iterdir()} == {"votes.csv"}


def test_models_learnt_on_other_observations(bayesmrf, linked, quick):
    counts = linked[["Ann", "Bob", "Dot"]].value_counts().reset_index()
    counts.to_csv("counts.csv", index=False)
    asked = ["--weight", "count", "--compare", "groups,independent", "--holdout", 0.4, "--method", "bic", "--seed", 1]
    code, out, err = bayesmrf("evidence", "counts.csv", *asked)
    assert code == 0
    assert "same data" not in err
    found = cells("counts-models")
    assert {c["n_samples"] for c in found.values()} == {36}
    assert len({c["data_hash"] for c in found.values()}) == 1
    assert "36 observations" in out


def test_given_edges(bayesmrf, linked, folder, quick):
    (folder / "edges.csv").write_text("Ann,Bob\nAnn,Cid\n")
    code, _, err = bayesmrf("evidence", "votes.csv", "--compare", "structure,independent", "--edges", "edges.csv",
                            "--method", "bic")  # fmt: skip
    assert (code, err) == (0, "")
    assert [n for n, _ in quick] == [7, 5]


def test_options_reach_the_methods(bayesmrf, votes, folder, quick):
    answers = votes + 3
    answers.assign(note="text").to_csv("answers.csv.gz", index=False)
    given = ["--binarize", ">=4", "--drop", "note", "--hidden", "2,4", "--method", "bic", "--n-chains", 3, "-q",
             "--prior-scale", 0.5, "--out", "x"]  # fmt: skip
    assert bayesmrf("evidence", "answers.csv.gz", *given) == (0, "", "")
    assert quick == [(17, 3), (29, 3)]
    assert {c["prior"] for c in cells("x").values()} == {"normal, scale 0.5, on weights and biases over {0, 1}"}


def test_help_names_all_methods():
    help_of = inspect.signature(evidence).parameters["method"].default.help
    assert help_of == f"One or more of: {', '.join(EVIDENCE.names)}."


def test_ladder_reaches_ais(bayesmrf, votes, fake):
    seen = []

    def ais(method, target, rng):
        seen.append(method.ladder)
        return -100.0, 0.1

    fake("ais", ais)
    for i, given in enumerate(([], ["--ladder", "linear"], ["--ladder", "2.5"])):
        asked = ["--hidden", "1", "--method", "ais", "--out", f"x{i}", *given]
        assert bayesmrf("evidence", "votes.csv", *asked)[0] == 0
    assert seen == ["cubic", "linear", 2.5]


def test_models_with_and_without_hidden_units_have_one_prior(bayesmrf, votes, quick):
    """The hint after --hidden 0 leads to the model without edges: its prior is that of the machines."""
    one_sentence(
        bayesmrf("evidence", "votes.csv", "--hidden", "0:2"), "--compare independent is the model without hidden"
    )
    bayesmrf("evidence", "votes.csv", "--hidden", 1, "--method", "bic", "--out", "a")
    asked = ["--compare", "complete,independent", "--method", "bic", "--out", "b"]
    assert bayesmrf("evidence", "votes.csv", *asked)[0] == 0
    priors = {c["prior"] for folder in "ab" for c in cells(folder).values()}
    assert priors == {"normal, scale 1, on weights and biases over {0, 1}"}


def test_verdict_within_errors_and_at_the_end_of_the_range(bayesmrf, votes, quick):
    _, out, _ = bayesmrf("evidence", "votes.csv", "--hidden", "1:3", "--method", "bic")
    assert "bic favours 2 hidden units (probability 0.99" in " ".join(out.split())
    assert "the largest number tried" not in out
    _, out, _ = bayesmrf("evidence", "votes.csv", "--hidden", "1:2", "--method", "bic")
    assert ", the largest number tried." in " ".join(out.split())


@pytest.mark.parametrize(
    ("half", "double", "said"),
    [
        ({1: -3.0, 2: -1.0}, {1: -2.0, 2: -1.0}, "It is also best by laplace at half and at twice the prior scale."),
        ({1: -3.0, 2: -1.0}, {1: -1.0, 2: -2.0}, "The choice depends on the prior scale: laplace favours 2 hidden "
         "units at half the scale, 1 hidden unit at twice the scale."),
        ({1: -3.0, 2: np.nan}, {1: -1.0, 2: -2.0}, None),
    ],
)  # fmt: skip
def test_verdict_says_whether_it_depends_on_the_prior_scale(half, double, said, bayesmrf, votes, fake):
    def laplace(method, target, rng):
        k = (target.n_features - 5) // 6
        return -50.0 + k, 0.0, {"at_half_prior_scale": half[k], "at_double_prior_scale": double[k]}

    fake("laplace", laplace)
    code, out, _ = bayesmrf("evidence", "votes.csv", "--hidden", "1:2")
    text = " ".join(out.split())
    assert code == 0
    assert "laplace favours 2 hidden units" in text
    assert ("prior scale" in text) == (said is not None)
    assert said is None or said in text
    again = bayesmrf("evidence", "votes.csv", "--hidden", "1:2")[1]  # from what was kept
    assert (said or "laplace") in " ".join(again.split())


def test_a_method_without_an_answer(bayesmrf, votes, fake):
    def bic(method, target, rng):
        return (np.nan, np.nan, {}, ["no luck"]) if target.n_features == 11 else (-50.0,)

    fake("bic", bic)
    code, out, err = bayesmrf("evidence", "votes.csv", "--hidden", "1:2", "--method", "bic", "--plot")
    assert code == 0
    assert rows(out)[0] == ["1", "– !"]
    assert rows(out)[1] == ["2", "-50.00 *"]
    assert "* best by this method; ! see the warnings" in out
    assert err == "warning: 1 hidden unit (bic): no luck\n"
    _, out, _ = bayesmrf("evidence", "votes.csv", "--hidden", "1", "--method", "bic")
    assert "bic has no result." in out


# ---- what is kept


def test_finished_results_are_not_made_again(bayesmrf, votes, quick):
    asked = ["evidence", "votes.csv", "--method", "bic", "--hidden"]
    first = bayesmrf(*asked, "1:3")
    assert first[0] == 0
    assert quick == [(11, 7), (17, 7), (23, 7)]
    kept = cells()
    code, out, err = bayesmrf(*asked, "1:4")
    assert (code, err) == (0, "")
    assert f"{FOLDER} contains 3 finished results, which are kept" in out
    assert quick[3:] == [(29, 7)]
    assert {k: v for k, v in cells().items() if k[0] != "4"} == kept
    assert [r for r in rows(out) if r[0] == "2"] == [r for r in rows(first[1]) if r[0] == "2"]
    one_sentence(bayesmrf(*asked, "1:3", "--prior-scale", 2), "--out: .*evidence.jsonl contains results of other data")
    one_sentence(bayesmrf(*asked, "1:3", "--seed", 9), "--out: .* another seed; give another path, or --overwrite")
    votes.iloc[:-1].to_csv("votes.csv", index=False)
    one_sentence(bayesmrf(*asked, "1:3"), "--out: .* other data")
    assert bayesmrf(*asked, "1", "--overwrite")[0] == 0
    assert len(cells()) == 1


def test_a_run_that_was_stopped_goes_on(bayesmrf, votes, quick, monkeypatch, folder):
    asked = ["evidence", "votes.csv", "--method", "map,bic", "--hidden", "1:2", "-q"]
    made = methods.evaluate

    def stopped(target, names, *rest, **options):
        for i, found in enumerate(made(target, names, *rest, **options)):
            if i == 1 and target.n_features == 17:
                raise KeyboardInterrupt
            yield found

    monkeypatch.setattr(methods, "evaluate", stopped)
    code, out, err = bayesmrf(*asked)
    assert (code, out) == (130, "")
    assert re.fullmatch(r"interrupted: stopped; 3 of 4 results are kept in .*; give the same command again.*\n", err)
    monkeypatch.setattr(methods, "evaluate", made)
    with (folder / FOLDER / "evidence.jsonl").open("a") as file:
        file.write('{"model": "2", "meth')  # torn by a power cut
    kept = cells_whole(folder)
    assert bayesmrf(*asked)[0] == 0
    seed = json.loads((folder / FOLDER / "evidence.jsonl").read_text().splitlines()[0])["seed"]
    assert bayesmrf(*asked, "--seed", seed, "--out", "whole")[0] == 0
    again, whole = cells(), cells("whole")
    assert set(again) == set(whole) == {(k, m) for k in "12" for m in ("map", "bic")}
    for key in whole:
        assert again[key]["log_evidence"] == whole[key]["log_evidence"]
    assert {k: again[k] for k in kept} == kept


def cells_whole(folder):
    """Cells of the whole lines of a file whose last is torn."""
    lines = (folder / FOLDER / "evidence.jsonl").read_text().splitlines()[1:-1]
    return {(c["model"], c["method"]): c for c in map(json.loads, lines)}


def test_results_come_back_as_they_went(folder):
    given = Evidence(-1.5, np.nan, "laplace", 30.0, 5, {"a": 2.0, "b": np.nan}, "a word", "hash", "prior")
    with evidence_store.opened(folder / "x", "r", None, 5, False) as store:
        store.add(3, given, 0.5)
    with evidence_store.opened(folder / "x", "r", None, 6, False) as again:
        assert again.seed == 5
        found = again.evidence(3, "laplace")
    assert repr(found) == repr(given)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_full_disk_is_one_sentence_and_the_same_command_goes_on(bayesmrf, votes, folder, quick, monkeypatch, at):
    """While the first line is written, and the second, and the third."""
    command, calls, fsync = ("evidence", "votes.csv", "--hidden", "1,2", "--method", "bic", "--seed", 3), [], os.fsync

    def full(handle):
        calls.append(handle)
        if len(calls) == at:
            raise OSError(28, "No space left on device")
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        one_sentence(bayesmrf(*command), "--out: .* cannot be written .No space left on device.; free disk space")
    assert not list((folder / FOLDER).glob("*.lock"))
    assert bayesmrf(*command)[0] == 0
    assert bayesmrf(*command, "--out", "whole")[0] == 0
    again, whole = cells(), cells("whole")
    assert {k: c["log_evidence"] for k, c in again.items()} == {k: c["log_evidence"] for k, c in whole.items()}


@pytest.mark.parametrize("left", ["", '{"bayesmrf": "evi'])
def test_a_first_line_that_never_was_whole_is_written_again(bayesmrf, votes, folder, quick, left):
    (folder / FOLDER).mkdir()
    (folder / FOLDER / "evidence.jsonl").write_text(left)
    assert bayesmrf("evidence", "votes.csv", "--hidden", 1, "--method", "bic")[0] == 0
    assert len(cells()) == 1


@pytest.mark.parametrize(
    "line", ['{"model": 1}', "[1]", "[" * 50_000, '{"model": "1", "method": "bic", "parts": 3}', "NaN", "\\xff"]
)
def test_crafted_lines_are_one_sentence(bayesmrf, votes, folder, quick, line):
    assert bayesmrf("evidence", "votes.csv", "--hidden", 1, "--method", "bic")[0] == 0
    with (folder / FOLDER / "evidence.jsonl").open("a") as file:
        file.write(f"{line}\n")
    one_sentence(
        bayesmrf("evidence", "votes.csv", "--hidden", 1, "--method", "bic"),
        r"evidence\.jsonl is damaged in line 3; remove this line, and give the same command again",
    )


def test_each_digit_of_a_line_is_in_its_checksum(bayesmrf, votes, folder, quick):
    """A changed digit made another model win, with status 0; so did a line of another run."""
    given = ["evidence", "votes.csv", "--hidden", "1:2", "--method", "bic"]
    for seed in (1, 2):
        assert bayesmrf(*given, "--seed", seed, "--out", f"seed{seed}")[0] == 0
    path = folder / "seed1" / "evidence.jsonl"
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    changed = [(i, at) for i, line in enumerate(lines) for at, c in enumerate(line) if c.isdigit()]
    for i, at in changed[:: len(changed) // 12]:
        digit = str((int(lines[i][at]) + 1) % 10)
        path.write_text("".join([*lines[:i], lines[i][:at] + digit + lines[i][at + 1 :], *lines[i + 1 :]]))
        damaged = "is damaged in line" if i else "its first line is damaged"
        one_sentence(bayesmrf(*given, "--seed", 1, "--out", "seed1"), damaged)
    other = (folder / "seed2" / "evidence.jsonl").read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2], other[2]]))
    one_sentence(bayesmrf(*given, "--seed", 1, "--out", "seed1"), "is damaged in line 3")
    path.write_text("".join(lines[:2]))  # the remedy
    assert bayesmrf(*given, "--seed", 1, "--out", "seed1")[0] == 0
    assert [json.loads(line)["log_evidence"] for line in path.read_text().splitlines()[1:]] == [
        json.loads(line)["log_evidence"] for line in lines[1:]
    ]


def test_two_commands_on_one_folder(bayesmrf, votes, folder, quick):
    with hold(folder / FOLDER):
        one_sentence(
            bayesmrf("evidence", "votes.csv", "--hidden", 1), f"{FOLDER} is in use by another run of this proc"
        )


@pytest.mark.parametrize("place", ["/proc/x", "/proc/self/fd/x", "x" * 300, "new/" + "x" * 300])
def test_places_that_cannot_be_written(bayesmrf, votes, folder, quick, place):
    one_sentence(bayesmrf("evidence", "votes.csv", "--hidden", 1, "--out", place), "--out|cannot be written")


# ---- bad input

BAD = {
    "neither": ([], "give either --hidden 1:9.* got neither"),
    "both": (["--hidden", "1", "--compare", "independent"], "give either --hidden 1:9.* got both"),
    "no units": (["--hidden", "0:3"], "--hidden must be an integer from 1 .*, got 0; --compare independent"),
    "negative": (["--hidden", "-2"], "--hidden must be .*, got -2"),
    "empty range": (["--hidden", "3:1"], "--hidden must be numbers of hidden units, such as 1:9 .*, got '3:1'"),
    "words": (["--hidden", "many"], "--hidden must be .*, got 'many'"),
    "twice": (["--hidden", "1,1"], "--hidden must be .*, got '1,1'"),
    "model": (["--compare", "groups,magic"], "--compare must be one or more of groups, structure.* got 'magic'"),
    "model twice": (["--compare", "complete,complete"], "--compare must be .*each once, got 'complete'"),
    "method": (
        ["--hidden", "1", "--method", "laplace,magic"],
        "--method must be one or more of .* got 'magic'",
    ),
    "method twice": (["--hidden", "1", "--method", "bic,bic"], "--method must name each method once, got 'bic' twice"),
    "scale": (["--hidden", "1", "--prior-scale", "0"], "--prior-scale must be .*, got 0.0"),
    "edges": (["--hidden", "1", "--edges", "edges.csv"], "--hidden does not support --edges"),
    "holdout": (["--hidden", "1", "--holdout", "0.5"], "--hidden does not support --holdout"),
    "share": (["--compare", "groups", "--holdout", "1.5"], "--holdout must be a share between 0 and 1, .* got 1.5"),
    "edges of no model": (
        ["--compare", "complete,independent", "--edges", "edges.csv"],
        "--edges must be omitted unless --compare has structure or groups, got 'edges.csv'",
    ),
    "nothing to learn": (
        ["--compare", "complete,independent", "--holdout", "0.5"],
        "--holdout must be omitted with --compare complete,independent, where nothing is learnt .*, got 0.5",
    ),
    "given edges": (
        ["--compare", "structure", "--edges", "edges.csv", "--holdout", "0.5"],
        "--holdout must be omitted with --edges and --compare structure, where nothing is learnt",
    ),
    "small share": (
        ["--compare", "groups", "--holdout", "0.001"],
        "--holdout must be a share that leaves .* 60 obs",
    ),
    "chains": (["--hidden", "1", "--n-chains", "0"], "--n-chains must be .*, got 0"),
    "ladder of laplace": (
        ["--hidden", "1", "--ladder", "linear"],
        "--method laplace does not support --ladder linear; remove it",
    ),
    "ladder": (
        ["--hidden", "1", "--method", "ais", "--ladder", "steep"],
        "--ladder must be 'cubic', 'lin",
    ),
    "power": (["--hidden", "1", "--method", "ais", "--ladder", "0"], "--ladder must be 'cubic', 'lin"),
    "draws of laplace": (
        ["--hidden", "1", "--n-draws", "9"],
        "--method laplace does not support --n-draws 9; remove it",
    ),
    "unknown node": (["--compare", "structure", "--edges", "edges.csv"], "--edges: 'Zoe' in line 2 of edges.csv"),
    "no file": (["--compare", "structure", "--edges", "no.csv"], "--edges: 'no.csv' is neither a file nor complete"),
    "a file as folder": (["--hidden", "1", "--out", "edges.csv"], "--out: edges.csv must be a folder, got a file"),
    "weight": (["--hidden", "1", "--weight", "Zoe"], "--weight: there is no column 'Zoe'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options(case, bayesmrf, votes, folder):
    (folder / "edges.csv").write_text("Ann,Bob\nBob,Zoe\n")
    options, message = BAD[case]
    one_sentence(bayesmrf("evidence", "votes.csv", *options), f"^error: {message}")


def test_bad_data(bayesmrf, votes, folder):
    (votes + 2).to_csv("votes.csv", index=False)
    one_sentence(bayesmrf("evidence", "votes.csv", "--hidden", 1), r"the table has the levels 2, 3 .*--binarize")
    votes.mask(np.eye(60, 5) == 1).to_csv("votes.csv", index=False)
    one_sentence(
        bayesmrf("evidence", "votes.csv", "--hidden", 1),
        r"votes.csv must not have missing values .NaN., but 5 are missing",
    )
    votes.head(3).to_csv("votes.csv", index=False)
    given = bayesmrf("evidence", "votes.csv", "--hidden", 1, "--method", "bic,cross-validation")
    one_sentence(given, "--method cross-validation needs an observation for each of 10 folds, got 3; use --method lap")
    assert not (folder / FOLDER).exists()


def test_exact_z_out_of_reach_is_said_before_any_work(bayesmrf, rng, folder):
    wide = pd.DataFrame(rng.integers(0, 2, (60, 20))).add_prefix("n")
    wide.to_csv("wide.csv", index=False)
    given = bayesmrf("evidence", "wide.csv", "--hidden", "1,16", "--method", "laplace,ais")
    one_sentence(given, r"--method ais needs the exact Z, a sum of 2\^16 = 65536 terms.*use --method laplace")
    assert not (folder / "wide-evidence").exists()


@pytest.mark.parametrize("task", [[], ["--task", 1]])
def test_a_request_that_is_refused_leaves_all_as_it_was(bayesmrf, votes, folder, task):
    asked = ["evidence", "votes.csv", "--compare", "independent,complete", "--seed", 1, "--out", "a/found"]
    there = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    refused = "--method conjugate needs parameters that are independent"
    one_sentence(bayesmrf(*asked, "--method", "conjugate", *task), refused)
    assert {path for path in folder.rglob("*")} == set(there)
    assert bayesmrf(*asked, "--method", "bic")[0] == 0
    assert bayesmrf(*asked, "--method", "bic", "--task", 0)[0] == 0
    there = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    more = task or ["--overwrite"]
    one_sentence(bayesmrf(*asked, "--method", "conjugate", *more), refused)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == there
    assert bayesmrf(*asked, "--method", "bic", "--overwrite")[0] == 0
    assert not list(folder.glob("a/found/task-*"))


def test_a_folder_of_evidences_is_no_result(bayesmrf, votes, folder, quick):
    ask = ["evidence", "votes.csv", "--compare", "independent", "--method", "conjugate", "--seed", 1, "--out", "found"]
    code, first, _ = bayesmrf(*ask)
    assert code == 0
    for command in ("report", "collect"):
        one_sentence(bayesmrf(command, "found"), "found has evidences of models, .*; give the same command .* again")
    code, again, _ = bayesmrf(*ask)  # the remedy
    assert code == 0
    assert rows(again) == rows(first)
    small = ["--n-draws", 5, "--n-warmup", 0, "--n-chains", 1]
    assert bayesmrf("posterior", "votes.csv", *small, "--out", "run")[0] == 0
    one_sentence(bayesmrf(*ask[:-1], "run"), "--out: run is the result of a single run; give another path")
    assert not (folder / "run" / "evidence.jsonl").exists()
    assert bayesmrf("posterior", "votes.csv", *small, "--out", "several/exact_run")[0] == 0
    for command in ("report", "collect"):
        one_sentence(bayesmrf(command, "several"), "several is not a result, .*; give one .*, such as several/exact")


def test_files_of_others_are_left_alone(bayesmrf, votes, folder, quick):
    there = folder / FOLDER
    there.mkdir()
    (there / "evidence.png").write_bytes(b"mine")
    one_sentence(
        bayesmrf("evidence", "votes.csv", "--hidden", 1, "--plot"),
        "--out: .*evidence.png exists and was not written by bayesmrf",
    )
    (there / "evidence.jsonl").write_text("mine\n")
    one_sentence(
        bayesmrf("evidence", "votes.csv", "--hidden", 1), "--out: .*evidence.jsonl was not written by this command"
    )
    assert (there / "evidence.jsonl").read_text() == "mine\n"
    code, out, _ = bayesmrf("evidence", "votes.csv", "--hidden", 1, "--method", "bic", "--plot", "--overwrite")
    assert code == 0
    assert "The plot is" in out
    assert bayesmrf("evidence", "votes.csv", "--hidden", 1, "--method", "bic", "--plot")[0] == 0


def test_one_observation_cannot_be_split():
    """The remedy was the share that was given."""
    with pytest.raises(OptionError, match=r"some of the 1 observations on either side, got 0\.5; remove it"):
        _split(np.array([1]), 0.5, 0)
