"""Processes wait for each other."""

import os
from typing import Any, Self

from . import _ends, _foregather


class Barrier(_foregather.BarrierMembers):
    """A barrier of `members` processes of one host, or of their threads.

    Ranks count from 0, and each rank's handle is given out once, to any process that has the barrier: as an argument
    of a `multiprocessing.Process`, or through a connection. Errors name the barrier by `name`.
    """

    def __new__(cls, members: int, name: str | None = None) -> Self:
        return super().__new__(cls, _foregather.Barrier.create(members), name)

    def __reduce__(self) -> tuple[Any, tuple[type[Self], Any, str | None]]:
        return _attach, (type(self), _ends.given(self.fileno()), self.name)

    def __repr__(self) -> str:
        return f"Barrier(members={self.members})"


def _attach(kind: type[Barrier], given: Any, name: str | None) -> Barrier:
    descriptor = given.detach()
    try:
        return _foregather.BarrierMembers.__new__(kind, _foregather.Barrier.attach(descriptor), name)
    finally:
        os.close(descriptor)
