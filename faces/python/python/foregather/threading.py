"""Threads wait for each other: `Barrier` means what `threading.Barrier` of the standard library does."""

from threading import BrokenBarrierError

from ._foregather import ThreadBarrier as Barrier

__all__ = ["Barrier", "BrokenBarrierError"]
