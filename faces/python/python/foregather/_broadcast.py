"""A queue from one process to several."""

import pickle
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from . import _ends, _foregather

if TYPE_CHECKING:
    from typing_extensions import Buffer

_BYTES = 64 << 20
# Objects travel as the number of buffers, their lengths and that of the pickle, the pickle, the buffers: all of
# them at multiples of this.
_ALIGN = 64


class Writer(_foregather.Writer):
    """The one writing end. Leaving a `with` block by an exception tells the readers that it has failed."""

    def put(self, object: Any, timeout: float | None = None) -> None:
        """Sends any object that can be pickled; arrays in it are copied once."""
        buffers: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(object, protocol=5, buffer_callback=buffers.append)
        raws = [buffer.raw() for buffer in buffers]
        lengths = [len(pickled), *(raw.nbytes for raw in raws)]
        head = struct.pack(f"<{1 + len(lengths)}Q", len(raws), *lengths)
        parts: list["Buffer"] = []
        pieces: list["Buffer"] = [head, pickled, *raws]
        for part, size in zip(pieces, (len(head), *lengths)):
            parts += [part, bytes(-size % _ALIGN)]
        self.send_parts(parts, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.fail() if kind else self.close()


class Reader(_foregather.Reader):
    """A reading end. Leaving a `with` block by an exception tells the writer that it has failed."""

    @contextmanager
    def read(self, timeout: float | None = None) -> Iterator[memoryview]:
        """The next message where it lies in the ring, without a copy, within the block.

        The writer writes over it after the block. An object that still shows it then, such as an array of
        `numpy.frombuffer`, is an error: BufferError, and the message stays. A message of more than half the ring is
        copied.
        """
        shown = self.view(timeout)
        view = memoryview(shown)
        read = False
        try:
            yield view
            read = True
        finally:
            with suppress(BufferError):  # What still shows the message is counted next.
                view.release()
            if isinstance(shown, _foregather.Bytes):
                kept = shown.exports > 0
                self.end_view(read and not kept)
                if read and kept:
                    raise BufferError("an object still shows the message that the block has read: copy it, or delete it before the block ends")

    def get(self, timeout: float | None = None) -> Any:
        """Waits for an object that was put. Its arrays are copies, and can be written."""
        if not self.views:
            with memoryview(self.recv(timeout)) as message:
                return _object(message)
        with self.read(timeout) as message:
            return _object(message)

    def __iter__(self) -> Iterator[bytes]:
        """All messages until the writer closes the queue."""
        from ._errors import Closed

        while True:
            try:
                message = self.recv()
            except Closed:
                return
            yield message

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.fail() if kind else self.close()


def _object(message: memoryview) -> Any:
    """The object of a message, of which nothing shows the message any more."""
    (count,) = struct.unpack_from("<Q", message)
    lengths = struct.unpack_from(f"<{count + 1}Q", message, 8)
    at, buffers = -(-8 * (count + 2) // _ALIGN) * _ALIGN, []
    begins = []
    for length in lengths:
        begins.append(at)
        at += -(-length // _ALIGN) * _ALIGN
    for begin, length in zip(begins[1:], lengths[1:]):
        with message[begin : begin + length] as part:
            buffers.append(bytearray(part))
    with message[begins[0] : begins[0] + lengths[0]] as pickled:
        return pickle.loads(pickled, buffers=buffers)


class Broadcast:
    """A queue from one writer to `readers` readers, in processes of one host, all of which get every message.

    The writer is rank 0, the readers are ranks 1 and so on; each rank's end is given out once, to any process that has
    the queue: as an argument of a `multiprocessing.Process`, or through a connection. Once `bytes` are full the writer
    waits for the slowest reader; with `skip` the oldest message goes, a reader that misses some gets `Skipped`, and no
    message may be longer than five eighths of `bytes`.
    """

    def __init__(self, readers: int, bytes: int = _BYTES, *, skip: bool = False) -> None:
        self._queue = _foregather.Queue.create(readers, bytes, skip)
        self._skip = skip

    @property
    def readers(self) -> int:
        """The number of readers."""
        return self._queue.readers

    def writer(self) -> Writer:
        """The writing end, for this process."""
        writer = Writer(self._queue)
        _ends.keep(writer)
        return writer

    def reader(self, rank: int) -> Reader:
        """The reading end of that rank, from 1 on, for this process."""
        reader = Reader(self._queue, rank, not self._skip)
        _ends.keep(reader)
        return reader

    def __reduce__(self) -> tuple[Any, tuple[type[Self], Any, bool]]:
        return _attach, (type(self), _ends.given(self._queue.fileno()), self._skip)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(readers={self.readers})"


def _attach(kind: type[Broadcast], given: Any, skip: bool) -> Broadcast:
    queue = kind.__new__(kind)
    queue._queue, queue._skip = _foregather.Queue.attach(given.detach()), skip
    return queue


class Channel(Broadcast):
    """A queue from one process to one other."""

    def __init__(self, bytes: int = _BYTES, *, skip: bool = False) -> None:
        super().__init__(1, bytes, skip=skip)

    def sender(self) -> Writer:
        """The sending end, for this process."""
        return self.writer()

    def receiver(self) -> Reader:
        """The receiving end, for this process."""
        return self.reader(1)
