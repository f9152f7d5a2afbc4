"""Lines of progress where standard error is no terminal, by a clock of the test."""

import io
import re
import time
from functools import partialmethod
from types import SimpleNamespace

import pytest

from bayesmrf import progress
from bayesmrf.progress import Lines, span, track
from bayesmrf.runs import chain_bars, stopping
from tests.unit.runs.test_run import OPTIONS, Walk, sample


class Clock:
    """A clock that shows what it is set to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def usual(monkeypatch):
    """The seconds of users, which the other tests do not have."""
    monkeypatch.setattr(progress, "FIRST", 10.0)
    monkeypatch.setattr(progress, "LONG", 3600.0)


def told(done_at, seconds, total=6000, begin=0, **options):
    """The lines of work of which ``done_at(t)`` steps are done after t seconds, with the time of each."""
    clock, found = Clock(), []
    say = lambda text: found.append((clock.now, text))  # noqa: E731
    lines = Lines("4 chains of 1,500 steps", total, begin, "Use fewer draws", say=say, clock=clock, **options)
    for second in range(1, seconds + 1):
        clock.now = float(second)
        lines.tick(min(total, int(done_at(second))) if total else int(done_at(second)))
    return found


def test_quick_work_is_silent(usual):
    assert not told(lambda t: 1000 * t, 9)
    assert not told(lambda t: 6000, 100)  # it was done before


def test_a_line_after_ten_seconds_and_one_a_minute(usual):
    found = told(lambda t: 20 * t, 300)
    assert [t for t, _ in found] == [10, 70, 130, 190, 250]
    assert found[0][1] == "4 chains of 1,500 steps: 200 of 6,000 done, about 5 min left"
    assert found[-1][1] == "4 chains of 1,500 steps: 5,000 of 6,000 done, about 50 s left"


def test_compilation_is_told_at_once(usual, monkeypatch):
    ready = iter(range(5, 70))
    monkeypatch.setattr(progress, "compiling", lambda: (next(ready), 77))
    what, told_of = "4 chains of 1,500 steps: ", told(lambda t: 0, 60)
    assert told_of == [(1, f"{what}compiling (5 of 77)"), (10, f"{what}compiling (6 of 77), 10 s so far")]
    assert not told(lambda t: 0, 60, console=object())  # its bars say so


def test_compilation_is_not_in_the_estimate(usual):
    found = told(lambda t: max(0, 20 * (t - 40)), 120)
    assert [t for t, _ in found] == [10, 70]
    assert found[0][1] == "4 chains of 1,500 steps: 0 of 6,000 done, 10 s so far"
    assert found[1][1].endswith(": 600 of 6,000 done, about 4 min left")  # 270 s; with the compilation 630


def test_the_steps_of_an_earlier_run_are_not_in_the_estimate(usual):
    found = told(lambda t: 3000 + 10 * t, 20, begin=3000)
    assert found == [(10, "4 chains of 1,500 steps: 3,100 of 6,000 done, about 5 min left")]


def test_steps_of_workers_come_every_few_seconds(usual):
    found = told(lambda t: 100 * (t // 5), 80)
    assert [t for t, _ in found] == [10, 70]
    assert found[0][1].endswith(": 200 of 6,000 done, about 5 min left")


@pytest.mark.parametrize("has_bar", [False, True])
def test_a_run_of_hours_says_so_at_once_and_what_to_do(usual, has_bar):
    found = told(lambda t: t / 3, 150, console=object() if has_bar else None)
    first = [] if has_bar else [(10, "4 chains of 1,500 steps: 3 of 6,000 done, about 6 h left")]
    announced = 18, "4 chains of 1,500 steps: 6 of 6,000 done, about 5 h left. Use fewer draws"
    assert found[: len(first) + 1] == [*first, announced]  # the first step, and fifteen seconds
    assert [t for t, _ in found[len(first) + 1 :]] == ([] if has_bar else [78, 138])
    assert sum("fewer" in text for _, text in found) == 1


def test_slow_first_steps_are_forgotten(usual):
    """Chains are started, or code is loaded; control: the mean of all steps."""
    found = told(lambda t: t / 6 if t < 12 else 2 + 2 * (t - 12), 20, total=12_000)
    assert found == [(10, "4 chains of 1,500 steps: 1 of 12,000 done, 10 s so far")]
    found = told(lambda t: t / 6 if t < 12 else 2 + 2 * (t - 12), 30, total=12_000)
    assert found[-1] == (21, "4 chains of 1,500 steps: 20 of 12,000 done, about 2 h left. Use fewer draws")
    assert span((12_000 - 20) * (21 - 6) / 19) == "3 h"


def test_a_run_until_good_says_between_which_times_it_ends(usual):
    """Of hours at most, although the next look is in minutes; control: a run that takes less than an hour at most."""
    found = told(lambda t: 10 * t, 70, ends=[9000, 90_000])
    assert [t for t, _ in found] == [10, 16]
    assert found[1][1] == "4 chains of 1,500 steps: 160 of 6,000 done, 15 min to 2 h left. Use fewer draws"
    assert found[0][1].endswith("15 min to 2 h left")
    assert not any("Use fewer" in text for _, text in told(lambda t: 10 * t, 70, ends=[9000, 30_000]))


def test_steps_of_the_warm_up_are_not_in_the_estimate_of_draws(usual):
    """They take half as long; control: a clock that does not know of the warm-up."""
    clock, found = Clock(), {True: [], False: []}
    for knows, said in found.items():
        lines = Lines("chains", 6000, say=said.append, clock=clock)
        lines.began, lines.due = 0.0, 10.0
        for second in range(1, 200):
            clock.now = float(second)
            done = 20 * second if second < 100 else 2000 + 10 * (second - 100)
            lines.tick(done, is_warm=knows and second >= 100)
    assert found[True][-1] == "chains: 2,900 of 6,000 done, about 5 min left"
    assert found[False][-1] == "chains: 2,900 of 6,000 done, about 4 min left"


def test_a_notebook_without_widgets_has_lines(fast_clock, capfd, monkeypatch):
    """Rich has a warning there in place of bars; control: with them it has a console."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    assert list(track(range(30), "learning")) == [*range(30)]
    assert "learning: " in capfd.readouterr().err
    monkeypatch.setattr(progress, "find_spec", lambda name: name)
    assert progress.terminal().is_jupyter


def test_work_of_unknown_length(usual):
    assert told(lambda t: t, 80, total=None)[1] == (70, "4 chains of 1,500 steps: 70 done, 70 s so far")


def test_durations():
    assert [span(s) for s in (3, 89, 91, 3600, 5401, 86400, 3e6)] == [
        "3 s", "89 s", "2 min", "60 min", "2 h", "24 h", "35 days"]  # fmt: skip


@pytest.fixture
def fast_clock(usual, monkeypatch):
    """A clock that advances by five seconds whenever it is read, and no terminal."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    clock = Clock()

    def read():
        clock.now += 5.0
        return clock.now

    monkeypatch.setattr(Lines, "__init__", partialmethod(Lines.__init__, clock=read))
    monkeypatch.setattr(chain_bars, "TICK", 1e-3)


class Waiting(Walk):
    """A kernel whose steps wait for what the thread of the progress prints."""

    def step(self, rng, state):
        time.sleep(1e-3)
        return super().step(rng, state)


def test_chains_in_a_pipe_print_lines_and_no_bar(fast_clock, capfd):
    sample(Waiting(), **OPTIONS | {"progress": True})
    out, err = capfd.readouterr()
    assert out == ""
    left = r"(about )?\d+ (s|min|h) (left|so far)(\. Ctrl-C.*)?"  # hours where other work makes steps slow
    assert re.fullmatch(rf"(3 chains of 127 steps: \d+ of 381 done, {left}\n)+", err), err
    sample(Waiting(), **OPTIONS | {"progress": False})
    assert capfd.readouterr().err == ""


def test_a_run_until_good_tells_of_the_stage_that_it_is_in(fast_clock, capfd, monkeypatch):
    monkeypatch.setattr(stopping, "FIRST", 12)
    monkeypatch.setattr(stopping, "TIMES", 1.5)
    monkeypatch.setattr("bayesmrf.runs.run.MOST", 40)
    options = OPTIONS | {
        "progress": True,
        "n_draws": None,
        "judge": lambda draws: stopping.Outlook("" if draws.n_draws > 15 else "short", 0.75, "theta[a]", 1.2),
    }
    sample(Waiting(), **options)
    what = "3 chains until good, at most 40 draws each"
    err = capfd.readouterr().err
    span = r"\d+ (s|min|h)"
    left = rf"({span} so far|about {span} left|{span} to {span} left)(\. Ctrl-C.*)?"
    assert re.fullmatch(rf"({what}: \d+ done, {left}\n)+", err), err
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    sample(Waiting(), **options)
    err = capfd.readouterr().err
    assert "75 % of the quantities are good" in err
    assert re.search(r"\d+ draws of 3 chains; waiting for theta\[a\]", err)
    assert "27 draws of 3 chains" in err


def test_the_time_left_is_between_the_looks_at_which_a_run_may_end():
    rule = stopping.StoppingRule(stopping.interim_checks(), lambda: stopping.Outlook())
    ends = [rule._ends(3, stopping.Outlook("short", 0.5, "theta[a]", times)) for times in (1.0, 2.0, 4.0)]
    assert ends == [(1526, 1907), (1907, 3725), (3725, 7276)]  # 977 draws, and the second of two good looks
    assert rule._ends(3, stopping.Outlook("")) == (1221, 1221)
    clock = iter([0.0, 1.0, 2.0, 12.0, 22.0]).__next__
    lines = Lines("work", None, ends=[200, 400], clock=clock, say=lambda text: None)
    for done in (0, 10, 60, 110):
        lines.tick(done)
    assert lines.left(110) == "18 s to 58 s left"
    lines.ends = [200, 200]
    assert lines.left(110) == "about 18 s left"
    assert lines.left(300) == "about 0 s left"


def test_remedy_names_what_is_kept(fast_clock, capfd, monkeypatch):
    monkeypatch.setattr(progress, "LONG", 0.0)
    plan = SimpleNamespace(n_warmup=10, n_steps=100, thin=1)
    watched = SimpleNamespace(steps=[0, 0], latest=[None, None], plan=plan)
    for is_stored, words in ((True, "it can be continued later"), (False, "with the draws so far; with a checkpoint")):
        with chain_bars.chain_bars(watched, [0, 1], True, is_stored):
            for _ in range(50):
                watched.steps[0] += 1
                time.sleep(2e-3)
        err = capfd.readouterr().err
        assert words in err
        assert err.count("Fewer draws, another method or another engine may take less time\n") == 1


def test_other_work_in_a_pipe(fast_clock, capfd):
    assert list(track(range(30), "learning")) == [*range(30)]
    err = capfd.readouterr().err
    assert err.splitlines()[0] == "learning: 1 of 30 done, 10 s so far"
    assert err.splitlines()[1] == "learning: 13 of 30 done, about 85 s left"
    assert list(track(iter(range(3)), "papers", progress=False)) == [0, 1, 2]
    assert capfd.readouterr().err == ""


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of which the text is read."""
    from rich.console import Console

    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(progress, "terminal", lambda: console)
    monkeypatch.setattr(progress, "TICK", 0.02)
    return console


def test_work_is_on_a_terminal_and_goes_when_it_ends(terminal):
    with progress.announced("counting", True):
        time.sleep(0.3)
    assert re.search(r"counting: \d+ s so far", terminal.file.getvalue())
    assert terminal.file.getvalue().endswith("\x1b[2K")  # the line is erased
    with progress.announced("waiting", False):
        assert "waiting" not in terminal.file.getvalue()


def test_work_within_other_work_is_no_error(terminal, monkeypatch):
    """Old versions of rich have one live display at a time."""
    from rich.errors import LiveError

    def refuse(*_):
        raise LiveError("Only one live display may be active at once")

    with progress.announced("outside", True):
        monkeypatch.setattr("rich.status.Status.start", refuse)
        with progress.announced("inside", True):
            pass


def test_parts_of_work_are_named_and_timed(terminal, monkeypatch):
    """A part that comes twice counts once; control: nothing is said of work whose parts are short."""
    clock = iter([0.0, 1.0, 4.0, 5.0, 7.0, 9.0, 10.0, 11.0])
    work = progress.Work("writing the report")
    assert work.took() == ""
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    monkeypatch.setattr(progress, "SILENT", 2.0)
    work = progress.Work("writing the report")
    for part in ("edges", "statistics", "edges", ""):
        work.begin(part)
    assert work.seconds == {"edges": 5.0, "statistics": 1.0}
    assert work.took() == "9 s: edges 5 s, statistics 1 s"
    work.part = "statistics"
    assert str(work) == "writing the report (statistics): 10 s so far"


def test_a_part_is_that_of_the_innermost_work(terminal):
    progress.begin_part("of no work")
    with progress.announced("outside", False) as outside:
        progress.begin_part("first")
        with progress.announced("inside", False) as inside:
            progress.begin_part("second")
        progress.begin_part("third")
    assert (list(outside.seconds), list(inside.seconds)) == (["first", "third"], ["second"])
