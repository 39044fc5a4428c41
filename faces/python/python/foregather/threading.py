"""A barrier for threads, with the interface of the standard library's `threading.Barrier`."""

from threading import BrokenBarrierError

from ._foregather import ThreadBarrier as Barrier

__all__ = ["Barrier", "BrokenBarrierError"]
