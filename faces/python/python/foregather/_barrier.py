"""Processes meet."""

from types import TracebackType
from typing import Any, Self

from . import _ends, _foregather


class Member(_foregather.Member):
    """One rank's handle. Closing it ends the barrier for all that still need it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()


class Barrier:
    """A barrier of `members` processes of one host, or of their threads.

    Ranks count from 0, and each rank's handle is given out once, to any process that has the barrier: as an argument
    of a `multiprocessing.Process`, or through a connection.
    """

    def __init__(self, members: int) -> None:
        self._barrier = _foregather.Barrier.create(members)

    @property
    def members(self) -> int:
        """The number of members."""
        return self._barrier.members

    def member(self, rank: int) -> Member:
        """The handle of that rank, for this process."""
        member = Member(self._barrier, rank)
        _ends.keep(member)
        return member

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return _attach, (_ends.given(self._barrier.fileno()),)

    def __repr__(self) -> str:
        return f"Barrier(members={self.members})"


def _attach(given: Any) -> Barrier:
    barrier = Barrier.__new__(Barrier)
    barrier._barrier = _foregather.Barrier.attach(given.detach())
    return barrier
