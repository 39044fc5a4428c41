"""Waits that do not block the asyncio event loop.

A queue has no file descriptor that an event loop could poll. So a thread waits for the message and
leaves it in the queue, and the task consumes it. A cancelled task does not consume a message.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ._errors import Closed, TimedOut

if TYPE_CHECKING:
    from ._foregather import Reader

_T = TypeVar("_T")

# A cancelled task waits for its thread, which checks for cancellation at this interval.
_SLICE_S = 0.1


async def recv(reader: "Reader") -> bytes:
    return await _taken(reader, reader.recv)


async def get(reader: "Reader") -> Any:
    return await _taken(reader, reader.get)


async def following(reader: "Reader") -> bytes:
    """Returns the next message of `async for`."""
    try:
        return await _taken(reader, reader.recv)
    except Closed:
        raise StopAsyncIteration from None


async def _taken(reader: "Reader", take: Callable[[float], _T]) -> _T:
    while True:
        if reader.ready():
            # Another task or thread may be faster.
            with contextlib.suppress(TimedOut):
                return take(0)
        await _until_ready(reader)


async def _until_ready(reader: "Reader") -> None:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    is_cancelled = threading.Event()

    def wait() -> None:
        error = None
        try:
            while not is_cancelled.is_set() and not reader._is_ready_within(_SLICE_S):
                pass
        except Exception as raised:
            error = raised
        # The loop may be closed by now.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(end, error)

    def end(error: Exception | None) -> None:
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    threading.Thread(target=wait, name="foregather-reader", daemon=True).start()
    cancelled = None
    while not ended.done():
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError as error:
            is_cancelled.set()
            cancelled = error
    failed = ended.exception()
    if cancelled is not None:
        raise cancelled
    if failed is not None:
        raise failed
