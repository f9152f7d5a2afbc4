"""Table of the posterior predictive checks of a run."""

from __future__ import annotations

from ...errors import said, said_in_python
from ..predictive_checks import GROUP, LEVEL, checks_in, first_row, sentences, things
from ..summary import Summary, count
from .base import Column, Listing, Table, number, rest_of, table, text

_MOST = 20  # rows of the page


@table("checks", Summary, lambda s: GROUP in s.tree.children)
def checks(s: Summary) -> Table:
    """Posterior predictive checks, the least expected first: statistics of the data, and of predicted tables."""
    frame, about = checks_in(s.tree), s[GROUP].attrs
    assert frame is not None
    n, first = int(frame["outside"].sum()), first_row(s.attrs)

    def say(kind: str, name: str, value: str) -> str:
        return f"row {int(name) + first}" if kind == "row" else said_in_python(kind, name, value)

    note = (
        f"{count(len(frame), 'statistic')} of the data ({count(int(about['n_rows']), 'row')}) "
        f"{'is' if len(frame) == 1 else 'are'} compared with those of {int(about['n_replicates']):,} tables that the "
        f"posterior predicts. Outside are those with a p-value below {LEVEL:g}, adjusted for the number of all: "
        f"{f'{n:,}' if n else 'none'}. Pairs are compared given how often each answer "
        "is given, triples given their pairs, the sum given its mean and variance. Rows: how many nats less probable "
        "than the mean row of a table from the model."
    )
    value = "{:,.1f}" if about["counted"] else "{:,.2f}"
    group = [text("group")] if frame["group"].any() else []
    ends = Column("95 % interval", ("lower", "upper"), value, "{} to {}", ("from", "to"))
    numbers = number("observed", each=value), number("expected", each=value), ends, number("p_adjusted", "adjusted p")
    columns = text("family", "check"), *group, text("what", "of"), *numbers
    once = frame.drop_duplicates(["family", "group", "what"])  # a row that was counted several times is one
    once = once.assign(what=things(once, first))
    listing = Listing("Least expected", once.iloc[:_MOST], rest_of(len(once), _MOST, "least expected"))
    return Table(
        "checks",
        frame,
        columns,
        wide=listing,
        lead="\n".join(said(text, say) for text in sentences(frame, bool(about["counted"]))),
        note=note,
    )
