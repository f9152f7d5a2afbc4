"""Many independent runs, such as folds, models and replicates: in order here, or by workers as they become free."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import closing
from typing import Any, TypeVar

import cloudpickle
from joblib import parallel_config

from ..errors import WorkerError
from ..progress import track
from ..threads import one_thread
from .workers import VERSIONS, check_version, sendable, told, workers_of

T = TypeVar("T")
R = TypeVar("R")


def run_each(
    function: Callable[[T], R], items: Sequence[T], description: str, *, executor: Any = None, progress: bool = True
) -> Iterator[tuple[int, R]]:
    """Call a function for each item, and return the number of the item and the result, as they are computed.

    Random numbers must come from the item, not from the place where it is run.

    Parameters
    ----------
    function : callable
        It and the items are pickled for workers.
    items : sequence
    description : str
        Text before the line of progress.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Each item is run in one thread of a worker. By default items are run here in their order.
    progress : bool
        False shows nothing.

    Raises
    ------
    WorkerError
        If a worker has another version, or was killed and the executor has no other.
    Exception
        The first exception of ``function``. What has not begun is then cancelled, as by Ctrl-C.
    """
    workers = workers_of(executor)
    if workers is None:
        done: Generator[Any, None, None] = ((i, function(item), None) for i, item in enumerate(items))
    else:
        done = _by_executor(workers.executor, cloudpickle.dumps(function), items)
    with closing(done):  # cancels what has not begun
        for i, result, error in track(done, description, total=len(items), progress=progress):
            if error is not None:
                raise error
            yield i, result


def _by_executor(executor: Any, pickled: bytes, items: Sequence[Any]) -> Generator[Any, None, None]:
    """Name the errors of workers; those of the function are among the results."""
    futures: list[Any] = []
    try:
        futures += [executor.submit(_call, VERSIONS, pickled, i, item) for i, item in enumerate(items)]
        for future in as_completed(futures):
            yield future.result()
    except Exception as e:
        raise WorkerError(f"a worker was lost ({told(e)}); call again with new workers") from e
    finally:
        for future in futures:
            future.cancel()


def _call(versions: str, pickled: bytes, i: int, item: Any) -> tuple[int, Any, BaseException | None]:
    try:
        check_version(versions)
        with one_thread(), parallel_config(n_jobs=1):
            return i, cloudpickle.loads(pickled)(item), None
    except Exception as e:
        return i, None, sendable(e)
