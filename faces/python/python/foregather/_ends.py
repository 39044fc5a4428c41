"""Handles that are closed in order when their process ends in order, and handed to processes by `multiprocessing`."""

import os
import weakref
from multiprocessing import util
from typing import Any, Protocol


class _Closable(Protocol):
    def close(self) -> None: ...


_open: "weakref.WeakSet[Any]" = weakref.WeakSet()
_registered_in: int | None = None


def _close_all() -> None:
    for handle in list(_open):
        handle.close()


def keep(handle: _Closable) -> None:
    """Closes the handle when this process ends, unless it is killed."""
    global _registered_in
    if _registered_in != os.getpid():
        # A forked child forgets what its parent has registered, and has copies of handles that are not its own.
        _open.clear()
        util.Finalize(None, _close_all, exitpriority=10)
        _registered_in = os.getpid()
    _open.add(handle)


def given(descriptor: int) -> Any:
    """A descriptor on its way to a process that `multiprocessing` starts, or to one that has a connection."""
    from multiprocessing import reduction

    return reduction.DupFd(descriptor)
