"""Closes handles when their process exits normally, and passes them to other processes."""

import os
import weakref
from multiprocessing import util
from typing import Any, Protocol

from ._errors import Error


class _Closable(Protocol):
    def close(self) -> None: ...


# The references have no callbacks: dropping a handle must run no Python code, because exceptions in it are lost.
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
                # A daemon thread is in a call with it and dies with the process: the other ends get PeerLost.
                pass


def keep(handle: _Closable) -> None:
    """Registers the handle to be closed when this process exits normally.

    A forked child does not close it.
    """
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
    """Returns a wrapper that sends the descriptor to a child process or over a `Connection`."""
    from multiprocessing import reduction

    return reduction.DupFd(descriptor)
