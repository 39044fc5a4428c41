import sys
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, final

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    from typing_extensions import Buffer

__version__: str

@final
class Queue:
    @staticmethod
    def create(readers: int, size: int, skip: bool, kind: str = "broadcast") -> Queue: ...
    @staticmethod
    def attach(descriptor: int, kind: str = "broadcast") -> Queue: ...
    def fileno(self) -> int: ...
    @property
    def readers(self) -> int: ...

class QueueEnds:
    """Provides the ends of a queue."""

    def __new__(cls, queue: Queue, kind: str, name: str | None, skip: bool) -> Self: ...
    def writer(self) -> Writer:
        """Returns the writing end. It can be taken once."""

    def reader(self, rank: int) -> Reader:
        """Returns the reading end of `rank`. Readers count from 1. Each rank's end can be taken once."""

    def replace(self, rank: int) -> Reader:
        """Takes over the rank of a reader whose process has died, and returns its reading end."""

    def _receiver(self) -> Reader: ...
    def fileno(self) -> int:
        """Returns the descriptor of the queue's memory."""

    @property
    def readers(self) -> int:
        """Returns the number of readers."""

    @property
    def name(self) -> str | None:
        """Returns the name used in error messages, or `None`."""

    @property
    def skip(self) -> bool:
        """Returns whether the writer drops the oldest message when the ring is full."""

class Writer:
    """The writing end of a queue. If its `with` block raises an exception, readers get `PeerFailed`."""

    def send(self, message: Buffer, timeout: float | None = None) -> None:
        """Sends the bytes of an object with a contiguous buffer, such as bytes or a NumPy array."""

    def send_parts(self, parts: Sequence[Buffer], timeout: float | None = None) -> None:
        """Sends the bytes of several objects with contiguous buffers as one message."""

    def put(self, message: Any, timeout: float | None = None) -> None:
        """Sends any object that can be pickled. The data of its arrays is copied once, into the ring."""

    @property
    def sent(self) -> int:
        """Returns the number of messages sent, including those whose call raised `PeerLost`."""

    @property
    def lost(self) -> list[int]:
        """Returns the ranks of dead readers that have not been replaced."""

    def close(self) -> None:
        """Closes the queue: readers get the messages already sent, and then `Closed`."""

    def fail(self) -> None:
        """Ends the queue because this side has failed: readers get `PeerFailed` after the last message."""

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /) -> None: ...

class Reader:
    """A reading end of a queue. If its `with` block raises an exception, the writer gets `PeerFailed`."""

    @property
    def rank(self) -> int:
        """Returns the reader's rank."""

    @property
    def received(self) -> int:
        """Returns the number of messages consumed, including skipped ones."""

    def recv(self, timeout: float | None = None) -> bytes:
        """Waits for the next message and returns its bytes."""

    def get(self, timeout: float | None = None) -> Any:
        """Waits for an object that was sent with `put` and returns it."""

    def read(self, timeout: float | None = None) -> MessageBlock:
        """Returns a context manager that yields the next message as a `memoryview`, without a copy."""

    async def recv_async(self) -> bytes:
        """Waits for the next message without blocking the asyncio event loop, and returns its bytes."""

    async def get_async(self) -> Any:
        """Waits like `recv_async`, and returns an object that was sent with `put`."""

    def ready(self) -> bool:
        """Returns whether the next call would not block: a message is available or the queue has ended."""

    def _is_ready_within(self, seconds: float) -> bool: ...
    def close(self) -> None:
        """Closes this reader. The writer no longer waits for it."""

    def fail(self) -> None:
        """Closes this reader because this side has failed: the writer gets `PeerFailed`."""

    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> bytes: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def __next__(self) -> bytes: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /) -> None: ...

@final
class MessageBlock:
    def __enter__(self) -> memoryview: ...
    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /) -> None: ...

@final
class Bytes:
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Barrier:
    @staticmethod
    def create(members: int) -> Barrier: ...
    @staticmethod
    def attach(descriptor: int) -> Barrier: ...
    def fileno(self) -> int: ...
    @property
    def members(self) -> int: ...

class BarrierMembers:
    """Provides the members of a barrier."""

    def __new__(cls, barrier: Barrier, name: str | None) -> Self: ...
    def member(self, rank: int) -> Member:
        """Returns the handle of `rank` (0 to members - 1). Each handle can be taken once."""

    def fileno(self) -> int:
        """Returns the descriptor of the barrier's memory."""

    @property
    def members(self) -> int:
        """Returns the number of members."""

    @property
    def name(self) -> str | None:
        """Returns the name used in error messages, or `None`."""

class Member:
    """A member's handle. Closing it makes the other members' waits fail."""

    @property
    def rank(self) -> int:
        """Returns the member's rank."""

    @property
    def completed(self) -> int:
        """Returns the number of completed waits."""

    def wait(self, timeout: float | None = None) -> None:
        """Waits until all members have arrived. After a timeout, call again to resume the wait."""

    def close(self) -> None:
        """Closes the handle. Waits of the other members then raise an error."""

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /) -> None: ...

class ThreadBarrier:
    """A reusable barrier with the interface of `threading.Barrier`, whose waits adapt to the load."""

    def __new__(cls, parties: int, action: Callable[[], object] | None = None, timeout: float | None = None) -> Self: ...
    @property
    def parties(self) -> int:
        """Returns the number of threads that each wait needs."""

    @property
    def n_waiting(self) -> int:
        """Returns the number of threads that wait at the barrier."""

    @property
    def broken(self) -> bool:
        """Returns whether the barrier is broken."""

    def wait(self, timeout: float | None = None) -> int:
        """Waits until all parties have arrived. Returns a different number from 0 to `parties - 1` to each."""

    def reset(self) -> None:
        """Resets the barrier to its initial state. Waiting threads get `BrokenBarrierError`."""

    def abort(self) -> None:
        """Breaks the barrier: present and future waits raise `BrokenBarrierError`."""

