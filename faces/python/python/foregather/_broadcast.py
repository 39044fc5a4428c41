"""A queue from one writer to several readers."""

import os
from typing import Any, ClassVar, Self

from . import _ends, _foregather

_SIZE = 64 << 20


class Broadcast(_foregather.QueueEnds):
    """A queue from one writer to `readers` readers on one host. Every reader gets every message.

    The writer is rank 0, and the readers are ranks 1, 2 and so on. Each rank's end can be taken once, in any
    process that has received the queue as a `multiprocessing.Process` argument or over a `Connection`.

    When `size` bytes are in use, the writer waits for the slowest reader. With `skip=True` it drops the
    oldest message instead, a reader that missed messages gets `Skipped`, and a message may be at most 5/8 of
    `size` long. Error messages contain `name`.
    """

    _KIND: ClassVar[str] = "broadcast"

    def __new__(cls, readers: int, size: int = _SIZE, *, skip: bool = False, name: str | None = None) -> Self:
        return cls._over(_foregather.Queue.create(readers, size, skip), skip, name)

    @classmethod
    def _over(cls, queue: _foregather.Queue, skip: bool, name: str | None) -> Self:
        return _foregather.QueueEnds.__new__(cls, queue, cls._KIND, name, skip)

    def __reduce__(self) -> tuple[Any, tuple[type[Self], Any, bool, str | None]]:
        return _attach, (type(self), _ends.given(self.fileno()), self.skip, self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(readers={self.readers})"


def _attach(kind: type[Broadcast], given: Any, skip: bool, name: str | None) -> Broadcast:
    descriptor = given.detach()
    try:
        return kind._over(_foregather.Queue.attach(descriptor, kind._KIND), skip, name)
    finally:
        os.close(descriptor)


class Channel(Broadcast):
    """A queue from one sender to one receiver."""

    _KIND = "channel"

    def __new__(cls, size: int = _SIZE, *, skip: bool = False, name: str | None = None) -> Self:
        return cls._over(_foregather.Queue.create(1, size, skip, cls._KIND), skip, name)

    # No Python code runs after the end is taken.
    sender = _foregather.QueueEnds.writer
    receiver = _foregather.QueueEnds._receiver
