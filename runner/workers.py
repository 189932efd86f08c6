"""Worker processes that end with the run they work for, however it ends.

A worker ignores Ctrl-C, which the terminal sends to it as well: the run ends it. It follows its
parent, so that a killed run leaves nothing behind; and it ends the compilers that it started.
"""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread, Timer

from memstrat.errors import WorkerError

_GRACE_S = 0.5
"""How long a worker that was told to end may take to end the compilers that it started."""


@contextmanager
def worker_pool(jobs: int) -> Iterator[Executor]:
    """A pool of `jobs` processes. Raises WorkerError where one of them was killed from outside."""
    others = set(active_children())
    # Workers are started afresh: a forked copy of a process with threads may hang.
    context = get_context("spawn")
    pool = ProcessPoolExecutor(max_workers=jobs, mp_context=context, initializer=_begin)
    try:
        yield pool
    except BaseException as error:
        for worker in set(active_children()) - others:
            worker.terminate()
        if isinstance(error, BrokenProcessPool):
            raise WorkerError(
                "a worker process was killed, perhaps by the system for want of memory; what was "
                "finished is kept: run the same command again, with fewer --jobs if need be"
            ) from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Make a fresh process a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    Thread(target=_follow_parent, daemon=True).start()


def _leave(number: int, _frame: object) -> None:
    """End what is being done, and with it the compiler that does it; then the process."""
    leaving = Timer(_GRACE_S, os._exit, [128 + number])
    leaving.daemon = True
    leaving.start()
    raise SystemExit(128 + number)


def _follow_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
