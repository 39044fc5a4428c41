"""A barrier between processes."""

import os
from typing import Any, Self

from . import _ends, _foregather


class Barrier(_foregather.BarrierMembers):
    """A barrier for `members` participants on one host, each a process or a thread.

    Ranks count from 0. Each rank's handle can be taken once, in any process that has received the barrier as
    a `multiprocessing.Process` argument or over a `Connection`. Error messages contain `name`.
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
