"""The command ``bayesmrf collect``: join the chains that tasks ran with --chain."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import MoreDrawsError, StoreError
from . import common

_MOST = 10  # chains that are listed


def collect(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder given to --out.")],
) -> None:
    """Check the chains of a run, and write its result, or list what is missing.

    Without --n-draws chains are judged, and go on when their tasks are submitted again if they need more draws.

    Give it in the folder in which the tasks ran, as it reads the table again.
    """
    from ..data.files import TASK
    from ..runs.checkpoint import steps_of
    from ..runs.sealed import as_written
    from ..runs.store import CHECKPOINT, check_single, is_ours, read_kind

    if any(run.glob(f"{TASK}*")):
        raise StoreError(f"{run} has models and not chains; give the command of evidence without --task to join them.")
    check_single(run)
    if not is_ours(run):
        raise StoreError(f"{run} is not there; give the folder that the tasks have as --out.")
    if read_kind(run) != CHECKPOINT:
        common.new_console().print(f"{run} holds the result already", soft_wrap=True)
        return
    steps, settings = steps_of(run)
    left = common.unfinished(steps, settings)
    if left:
        rest = f"; and {len(left) - _MOST} more" if len(left) > _MOST else ""
        raise StoreError(
            f"{run} is not complete: {'; '.join([*left.values()][:_MOST])}{rest}; submit these tasks again, in SLURM "
            f"by --array={','.join(map(str, left))}."
        )
    with as_written(run):
        command = [str(word) for word in settings["command"]]
    root: Any = context.find_root().command
    if not command or not _has_chains(root.commands.get(command[0])):
        raise StoreError(f"{run} was not made by a command; call fit with checkpoint={str(run)!r} instead.")
    words = [*command, "--out", str(run)]
    try:
        root.main(words, prog_name="bayesmrf", standalone_mode=False, obj=common.Joining(command))
    except MoreDrawsError as e:
        here = shlex.join(["bayesmrf", *(command if str(run) in command else words)])
        raise StoreError(
            f"{run} needs more draws than {settings['n_draws']:,} of each chain: {e.short}. Submit the tasks again, in "
            f"SLURM by --array=0-{len(steps) - 1}: each goes on to {e.n_draws:,} draws. Or go on here: {here}"
        ) from None
    except StoreError as e:
        if not e.remedy:
            raise
        remedy = "collect where the table is as the tasks read it, with the version that they had"
        raise StoreError(e.problem, remedy=remedy) from None


def _has_chains(command: Any) -> bool:
    """Return whether a command runs chains, which tasks may run one by one."""
    return command is not None and any(option.name == "chain" for option in command.params)
