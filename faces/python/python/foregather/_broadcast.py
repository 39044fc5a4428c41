"""A queue from one process to several."""

import os
from typing import Any, ClassVar, Self

from . import _ends, _foregather

_SIZE = 64 << 20


class Broadcast(_foregather.QueueEnds):
    """A queue from one writer to `readers` readers, in processes of one host, all of which get every message.

    The writer is rank 0, the readers are ranks 1 and so on; each rank's end is given out once, to any process that has
    the queue: as an argument of a `multiprocessing.Process`, or through a connection. Once `size` bytes are full, the writer
    waits for the slowest reader; with `skip` the oldest message goes, a reader that misses some gets `Skipped`, and no
    message may be longer than five eighths of `size`. Errors name the queue by `name`.
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
    """A queue from one process to one other."""

    _KIND = "channel"

    def __new__(cls, size: int = _SIZE, *, skip: bool = False, name: str | None = None) -> Self:
        return cls._over(_foregather.Queue.create(1, size, skip, cls._KIND), skip, name)

    # No code of Python runs after the end is taken.
    sender = _foregather.QueueEnds.writer
    receiver = _foregather.QueueEnds._receiver
