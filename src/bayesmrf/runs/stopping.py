"""Stopping rules of runs: after a number of draws, or when two interim checks in a row find the draws good.

Nothing but the draws at stated counts decides, so that the run is the same on any number of workers and after a kill,
and its draws are the first of a longer run with the same seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import MoreDrawsError, argument

if TYPE_CHECKING:  # as the help text of the commands names numbers of draws, and imports no numpy
    from .chain import DrawBuffer

FIRST, TIMES, MOST = 500, 1.25, 20_000  # draws of a chain at the first look, and how they grow up to the last
OF_A_TASK = 1_221  # draws of a chain that runs alone, and cannot be judged: those of the fifth look


def interim_checks(most: int = MOST) -> list[int]:
    """List the numbers of draws of a chain at which a run is judged."""
    counts, n = [], float(FIRST)
    while n < most:
        counts.append(round(n))
        n *= TIMES
    return [*counts, most]


_WRONG = 0.75, 1.4  # factors by which the draws that are needed may be wrong


class Expected(NamedTuple):
    """An outlook, and the draws of a chain between which the run is likely to end."""

    outlook: Outlook
    least: int
    most: int


class Outlook(NamedTuple):
    """What draws are short of at a look: empty if they are good; and what a display says of the rest of the run."""

    short: str = ""
    share: float = 0.0  # of the quantities by which a run is judged that are good
    waits_for: str = ""  # the quantity that takes longest
    times: float = 1.0  # how many times as many draws it takes


class StoppingRule:
    """The rule by which a run ends, and the stages up to then.

    Parameters
    ----------
    counts : sequence of int
        Draws of a chain at the end of each stage.
    judge : callable, optional
        Says what the draws in the buffer are short of; empty if they are good. None for a single stage.
    keep : callable, optional
        Called with a count before steps are made for it.
    joins : bool
        Raise `MoreDrawsError` instead of making steps.

    Attributes
    ----------
    short : str
        What the draws were short of at the last check.
    has_ended : bool
        Whether nothing is left to judge.
    """

    def __init__(
        self,
        counts: Sequence[int],
        judge: Callable[[], Outlook] | None = None,
        keep: Callable[[int], None] = lambda n_draws: None,
        joins: bool = False,
    ) -> None:
        self.counts, self.judge, self.keep, self.joins = counts, judge, keep, joins
        self.short, self.has_ended = "", judge is None

    def stages(self, buffer: DrawBuffer) -> Iterator[None]:
        """Set the plan of each stage, whose steps the caller makes; judge the draws after it."""
        is_good = False
        for i, n_draws in enumerate(self.counts):
            buffer.plan_until(n_draws)
            if min(buffer.steps) < buffer.plan.n_steps:
                if self.joins:  # the next stage at which the run can end
                    self._refuse(self.counts[i if is_good else min(i + 1, len(self.counts) - 1)])
                self.keep(n_draws)
            yield
            if buffer.stop or self.judge is None:
                return
            was_good, outlook = is_good, self.judge()
            self.short, is_good = outlook.short, not outlook.short
            buffer.outlook = Expected(outlook, *self._ends(i, outlook))
            if (was_good and is_good) or n_draws == self.counts[-1]:
                self.has_ended = True
                return

    def _ends(self, look: int, outlook: Outlook) -> tuple[int, int]:
        """Return the least and the most draws of a chain after which the run is likely to end, two looks in a row."""
        last = len(self.counts) - 1
        if not outlook.short:
            return (self.counts[min(look + 1, last)],) * 2
        ends = []
        for wrong in _WRONG:
            wanted = wrong * outlook.times * self.counts[look]
            first = next((i for i, n in enumerate(self.counts) if i > look and n >= wanted), last)
            ends.append(self.counts[min(first + 1, last)])
        return ends[0], ends[1]

    def _refuse(self, n_draws: int) -> None:
        self.keep(n_draws)
        short = self.short or "they were good at one look, and two in a row are needed"
        error = MoreDrawsError(f"{argument('checkpoint')}: more draws are needed ({short})")
        error.n_draws, error.short = n_draws, short
        raise error
