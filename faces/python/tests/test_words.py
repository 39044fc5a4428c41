"""What errors say: the whole time, in the program's words, and what was expected."""

import inspect
import itertools
import multiprocessing
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import foregather
import foregather.threading
from foregather import _foregather

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def said_s(sentence: str) -> float:
    """The time that a sentence names."""
    found = re.search(r"within ([\d.]+) (ns|us|ms|s)\b", sentence)
    assert found, sentence
    return float(found[1]) * UNITS[found[2]]


def full(writer: foregather.Writer) -> None:
    while True:
        writer.send(bytes(200), timeout=0)


@pytest.mark.parametrize("limit", [0.05, 0.45])
def test_timeouts_name_the_whole_time_and_what_the_program_made(limit: float) -> None:
    queue, channel, barrier = foregather.Broadcast(2, 1 << 10), foregather.Channel(1 << 10), foregather.Barrier(2)
    empty, steps, answers = foregather.Channel(), foregather.Broadcast(1, name="steps"), foregather.Channel(name="answers")
    halo = foregather.Barrier(2, name="halo")
    with queue.writer() as writer, channel.sender() as sender, barrier.member(0) as member, halo.member(1) as other:
        for end in (writer, sender):
            with pytest.raises(foregather.TimedOut):
                full(end)
        waits: list[tuple[Callable[[float], object], str]] = [
            (empty.receiver().recv, "channel: no message from the sender within T; call again to go on waiting"),
            (steps.reader(1).get, 'broadcast "steps": no message from the writer within T; '),
            (answers.receiver().read, 'channel "answers": no message from the sender within T; '),
            (lambda limit: writer.put("x" * 500, limit), "broadcast: no room for the message within T: reader 1 has not read on; "),
            (lambda limit: sender.send(b"x" * 500, limit), "channel: no room for the message within T: the receiver has not read on; "),
            (member.wait, "barrier: rank 1 did not arrive within T; call again to go on with the same wait"),
            (other.wait, 'barrier "halo": rank 0 did not arrive within T; '),
        ]
        for wait, expected in waits:
            began = time.monotonic()
            with pytest.raises(foregather.TimedOut) as late:
                made = wait(limit)
                if isinstance(made, _foregather.MessageBlock):
                    made.__enter__()
            took, said = time.monotonic() - began, str(late.value)
            before, after = expected.split("T")
            assert said.startswith(before) and after in said, said
            assert limit * 0.99 <= said_s(said) <= took + 0.01, (said, took)


def test_what_is_not_there_yet_is_no_time() -> None:
    with foregather.Channel().receiver() as reader, pytest.raises(foregather.TimedOut, match="channel: no message from the sender yet;"):
        reader.recv(timeout=0)
    with foregather.Barrier(2).member(0) as member, pytest.raises(foregather.TimedOut, match="barrier: rank 1 did not arrive yet;"):
        member.wait(timeout=0)


def test_names_travel_with_what_they_name() -> None:
    ours, theirs = multiprocessing.Pipe()
    for made in (foregather.Broadcast(1, name="one"), foregather.Channel(name="two", skip=True), foregather.Barrier(2, "three")):
        ours.send(made)
        arrived: Any = theirs.recv()
        assert type(arrived) is type(made) and arrived.name == made.name
        assert getattr(arrived, "skip", None) == getattr(made, "skip", None)


def test_errors_name_the_other_end() -> None:
    channel = foregather.Channel(name="answers")
    channel.sender().fail()
    with channel.receiver() as reader, pytest.raises(foregather.PeerFailed, match='channel "answers": the sender has failed') as failed:
        reader.recv(timeout=5)
    assert failed.value.rank == 0
    queue = foregather.Broadcast(2, 1 << 10, name="steps")
    with queue.writer() as writer:
        queue.reader(1).close()
        queue.reader(2).fail()
        with pytest.raises(foregather.PeerFailed, match='broadcast "steps": reader 2 has failed'):
            full(writer)
    closed = foregather.Channel()
    with closed.sender():
        pass
    with closed.receiver() as reader, pytest.raises(foregather.Closed, match="channel: the sender has closed it"):
        reader.recv()


def test_ranks_and_numbers_out_of_range_are_told_what_is_in_range() -> None:
    queue, barrier = foregather.Broadcast(2, 1 << 12), foregather.Barrier(2)
    for call, expected in [
        (lambda: queue.reader(0), "readers count from 1, and the writer is rank 0"),
        (lambda: queue.reader(3), "invalid rank 3 of a reader of this broadcast: expected 1 to 2"),
        (lambda: queue.reader(-1), "expected 1 to 2"),
        (lambda: foregather.Channel(name="x").reader(0), 'channel "x": .*count from 1'),
        (lambda: barrier.member(2), "invalid rank 2 of a member of this barrier: expected 0 to 1"),
        (lambda: foregather.Broadcast(-1), "invalid number of readers -1 of a broadcast: expected 1 to 1023"),
        (lambda: foregather.Broadcast(2**70), "expected 1 to 1023"),
        (lambda: foregather.Broadcast(1, -1), "invalid size -1 of a broadcast in bytes: expected 512 to 8589934592"),
        (lambda: foregather.Channel(0), "invalid size 0 of a channel in bytes"),
        (lambda: foregather.Barrier(0), "invalid number of members 0 of a barrier: expected 1 to 1023"),
        (lambda: foregather.threading.Barrier(0), "invalid number of parties 0 of a barrier"),
        (lambda: foregather.threading.Barrier(1, None, -1), "invalid timeout -1: expected seconds from 0 on"),
        (lambda: _foregather.Queue.attach(-1), "invalid descriptor -1"),
        (lambda: _foregather.Barrier.attach(-1), "invalid descriptor -1"),
    ]:
        with pytest.raises(ValueError, match=expected):
            call()
    with foregather.Channel(1 << 10, skip=True).sender() as writer, pytest.raises(ValueError, match="channel: a message of 5000 bytes is too long"):
        writer.send(bytes(5000))
    # Rank 0 is the writer's, and was not taken by the attempt.
    queue.writer().close()
    with pytest.raises(ValueError, match="rank 0 is taken already"):
        queue.writer()


class Awkward:
    """Fails whatever it is asked."""

    def __repr__(self) -> str:
        raise KeyError("repr")

    def __index__(self) -> int:
        raise KeyError("index")

    def __float__(self) -> float:
        raise KeyError("float")

    def __buffer__(self, _: int) -> memoryview:
        raise KeyError("buffer")

    def __reduce__(self) -> Any:
        raise KeyError("reduce")


VALUES: list[Any] = [None, True, -1, 0, 1, 2, 2**31, 2**32, 2**64, -(2**70), 10**400, -(10**400), 0.0, -0.5, 1e-9, 1.5, 1e300]
VALUES += [float("nan"), float("inf"), "", "1", b"", b"x" * 600, [], [b"a", 3], {}, object(), Awkward(), type, memoryview(b"abcd")[::2]]
ORDINARY = (TypeError, ValueError, OverflowError, BufferError, OSError, KeyError, AttributeError, RuntimeError, StopIteration, MemoryError)


def everything() -> list[tuple[str, Callable[..., object]]]:
    """All that can be called: new objects for each call."""

    def of(make: Callable[[], Any]) -> list[tuple[str, Callable[..., object]]]:
        made = make()
        names = [name for name in dir(made) if callable(getattr(made, name)) and (not name.startswith("_") or name in ("__enter__", "__exit__", "_receiver"))]

        def caller(name: str) -> Callable[..., object]:
            return lambda *arguments: getattr(make(), name)(*arguments)

        return [(f"{type(made).__name__}.{name}", caller(name)) for name in names]

    queue: Callable[[], Any] = lambda: foregather.Broadcast(2, 1 << 12)  # noqa: E731
    found: list[tuple[str, Callable[..., object]]] = [
        ("Broadcast", foregather.Broadcast),
        ("Channel", foregather.Channel),
        ("Barrier", foregather.Barrier),
        ("threading.Barrier", foregather.threading.Barrier),
        ("Queue.create", _foregather.Queue.create),
        ("Queue.attach", _foregather.Queue.attach),
        ("QueueEnds", _foregather.QueueEnds),
        ("BarrierMembers", _foregather.BarrierMembers),
        ("Barrier.create", _foregather.Barrier.create),
        ("Barrier.attach", _foregather.Barrier.attach),
        *[(kind.__name__, kind) for kind in (foregather.Writer, foregather.Reader, foregather.Member, _foregather.MessageBlock, _foregather.Bytes)],
    ]
    closed = queue().reader(1)
    closed.close()
    ends = [queue, foregather.Channel, lambda: queue().writer(), lambda: closed, lambda: foregather.Barrier(1).member(0)]
    for make in [*ends, lambda: foregather.Barrier(2), lambda: foregather.threading.Barrier(1), lambda: closed.read(0)]:
        found += of(make)
    return found


def test_no_timeout_of_an_end_that_waits_panics() -> None:
    channel, barrier = foregather.Channel(1 << 10), foregather.Barrier(2)
    with channel.receiver() as reader, channel.sender() as writer, barrier.member(0) as member:
        with pytest.raises(foregather.TimedOut):
            full(writer)
        empty = foregather.Channel().receiver()
        waits = [empty.recv, empty.get, lambda limit: empty.read(limit).__enter__(), lambda limit: writer.send(bytes(500), limit), member.wait]
        waits += [lambda limit: writer.put(bytes(500), limit), lambda limit: writer.send_parts([bytes(500)], limit)]
        waits += [foregather.threading.Barrier(2).wait, lambda limit: foregather.threading.Barrier(2, None, limit).wait()]
        for wait, limit in itertools.product(waits, [*VALUES, 1e-3]):
            if limit is None or (isinstance(limit, int | float) and limit > 0.01):
                continue
            with pytest.raises(ORDINARY):
                wait(limit)
        assert reader.ready()


def test_a_message_in_parts_takes_no_longer_than_the_timeout() -> None:
    channel = foregather.Channel(1 << 10)
    with channel.sender() as writer, channel.receiver() as reader:
        threading.Timer(0.6, lambda: pytest.raises(foregather.TimedOut, writer.send, bytes(5000), 0)).start()
        began = time.monotonic()
        with pytest.raises(foregather.TimedOut) as late:
            reader.recv(timeout=0.8)
        took = time.monotonic() - began
        assert 0.8 <= said_s(str(late.value)) <= took + 0.01 and took < 1.2


def test_no_argument_ends_in_a_panic() -> None:
    for name, call in everything():
        for count in range(4):
            # All values at each place, the others ordinary.
            for place, value in itertools.product(range(max(count, 1)), VALUES if count else [None]):
                arguments: list[Any] = [1, 1 << 12, False][:count] if name in ("Broadcast", "Queue.create") else [None] * count
                if count:
                    arguments[place] = value
                try:
                    made = call(*arguments)
                    if inspect.iscoroutine(made):
                        made.close()
                except ORDINARY:
                    pass
                except BaseException as error:
                    raise AssertionError(f"{name}{tuple(map(type, arguments))}: {type(error)}") from error
