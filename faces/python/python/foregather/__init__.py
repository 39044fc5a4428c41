"""Parallel programs that wait well.

- `Broadcast`: a queue from one process to several. `Channel`: to one other.
- `Barrier`: processes wait for each other. `foregather.threading.Barrier`: threads do.
- `simulate`, `results`: what other machines would do; documents of measurements as arrays.
- `python -m foregather.openmp SCRIPT`, `python -m foregather.blas SCRIPT`: unchanged programs on this library's OpenMP
  runtime and BLAS; with `enable` in place of the script all programs of the environment.
- The command `foregather` comes with the wheel.

All waits let other threads run, end on Ctrl-C, and name the process that has gone.
"""

from . import _interpreter  # noqa: F401 (before the extension is loaded)
from ._barrier import Barrier
from ._broadcast import Broadcast, Channel
from ._errors import BadMessage, Closed, Error, PeerFailed, PeerLost, Replaced, Skipped, TimedOut
from ._foregather import Member, Reader, Writer, __version__
from ._lab import results, simulate

__all__ = [
    "BadMessage",
    "Barrier",
    "Broadcast",
    "Channel",
    "Closed",
    "Error",
    "Member",
    "PeerFailed",
    "PeerLost",
    "Reader",
    "Replaced",
    "Skipped",
    "TimedOut",
    "Writer",
    "__version__",
    "results",
    "simulate",
]
