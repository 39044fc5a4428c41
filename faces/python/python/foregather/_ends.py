"""Handles that are closed in order when their process ends in order, and handed to processes by `multiprocessing`."""

import os
import weakref
from multiprocessing import util
from typing import Any, Protocol

from ._errors import Error


class _Closable(Protocol):
    def close(self) -> None: ...


# Without callbacks: a handle that goes away runs no code of Python, in which an exception would be lost.
_handles: "dict[weakref.ref[_Closable], None]" = {}
_room = 64
_process = 0


def _close_all() -> None:
    for kept in reversed(list(_handles)):
        handle = kept()
        if handle is not None:
            try:
                handle.close()
            except Error:
                # A daemon thread is in a call with it, and ends with the process: the others get PeerLost.
                pass


def keep(handle: _Closable) -> None:
    """Closes the handle when this process ends, unless it is killed; a child of a fork leaves it alone."""
    global _process, _room
    if _process != os.getpid():
        _handles.clear()
        util.Finalize(None, _close_all, exitpriority=10)
        _process = os.getpid()
    if len(_handles) >= _room:
        for kept in list(_handles):
            if kept() is None:
                _handles.pop(kept, None)
        _room = max(64, 2 * len(_handles))
    _handles[weakref.ref(handle)] = None


def given(descriptor: int) -> Any:
    """A descriptor on its way to a process that `multiprocessing` starts, or to one that has a connection."""
    from multiprocessing import reduction

    return reduction.DupFd(descriptor)
