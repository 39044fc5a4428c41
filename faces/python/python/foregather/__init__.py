"""Queues and barriers between processes, and an OpenMP runtime and a BLAS for unchanged programs.

- `Broadcast`: a queue from one writer to several readers. `Channel`: a queue from one sender to one receiver.
- `Barrier`: a barrier between processes. `foregather.threading.Barrier`: a barrier for threads.
- `simulate` predicts how programs behave on other machines; `results` reads measurements into arrays.
- `python -m foregather.openmp SCRIPT` and `python -m foregather.blas SCRIPT` run an unchanged program with
  Foregather's OpenMP runtime or BLAS. `enable` instead of a script does this for all programs in the
  environment.
- The wheel contains the command `foregather`.

Every wait releases the GIL, stops on Ctrl-C, and raises an error that names a dead process.
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
