"""Handles that are closed in order when their process ends in order, and handed to processes by `multiprocessing`."""

import weakref
from multiprocessing import util
from typing import Any, Protocol

from ._errors import Error


class _Closable(Protocol):
    def close(self) -> None: ...


def _close(kept: "weakref.ref[_Closable]") -> None:
    handle = kept()
    if handle is not None:
        try:
            handle.close()
        except Error:
            # A daemon thread is in a call with it, and ends with the process: the others get PeerLost.
            pass


def keep(handle: _Closable) -> None:
    """Closes the handle when this process ends, unless it is killed; a child of a fork leaves it alone."""
    util.Finalize(handle, _close, args=(weakref.ref(handle),), exitpriority=10)


def given(descriptor: int) -> Any:
    """A descriptor on its way to a process that `multiprocessing` starts, or to one that has a connection."""
    from multiprocessing import reduction

    return reduction.DupFd(descriptor)
