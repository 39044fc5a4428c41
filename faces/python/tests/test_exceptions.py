"""An exception comes between any two instructions: of a signal's handler, or Ctrl-C. Everything stays usable."""

import contextlib
import itertools
import pickle
import random
import signal
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import foregather

PACKAGE = str(Path(foregather.__file__).parent)


class Stop(Exception):
    """What a signal's handler raises."""


Where = Callable[[types.CodeType], bool]


def anywhere(_: types.CodeType) -> bool:
    return True


def stopped(step: int, call: Callable[[], object], where: Where = anywhere, raised: type[BaseException] = Stop) -> bool:
    """Calls, and raises an exception before instruction number `step` of Python's code `where`. Returns whether the call came so far."""
    left = step

    def trace(frame: types.FrameType, event: str, _: object) -> Any:
        nonlocal left
        frame.f_trace_opcodes = where(frame.f_code)
        if event == "opcode" and frame.f_trace_opcodes:
            left -= 1
            if left < 0:
                raise raised
        return trace

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 looks for it when it begins to trace.
    sys.settrace(trace)
    try:
        call()
    except raised:
        return True
    finally:
        sys.settrace(before)
    return False


def all_read(reader: foregather.Reader) -> list[Any]:
    rest = []
    with contextlib.suppress(foregather.TimedOut):
        while True:
            rest.append(reader.get(timeout=0))
    return rest


def by_get(reader: foregather.Reader, got: list[Any]) -> None:
    got.append(reader.get(timeout=5))


def by_recv(reader: foregather.Reader, got: list[Any]) -> None:
    message = reader.recv(timeout=5)
    got.append(pickle.loads(message[64:]))


def by_loop(reader: foregather.Reader, got: list[Any]) -> None:
    for message in reader:
        got.append(pickle.loads(message[64:]))
        break


def by_read(reader: foregather.Reader, got: list[Any]) -> None:
    with reader.read(timeout=5) as view:
        got.append(pickle.loads(view[64:]))


def by_stack(reader: foregather.Reader, got: list[Any]) -> None:
    with contextlib.ExitStack() as stack:
        view = stack.enter_context(reader.read(timeout=5))
        got.append(pickle.loads(view[64:]))


class Unpickled:
    """Its unpickling runs Python's code."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> Any:
        return _unpickled, (self.number,)


def _unpickled(number: int) -> Unpickled:
    made = Unpickled(number)
    return made


@pytest.mark.parametrize("use", [by_get, by_recv, by_loop, by_read, by_stack])
@pytest.mark.parametrize("skip", [False, True])
def test_a_reader_outlives_an_exception_at_any_instruction(use: Callable[..., None], skip: bool) -> None:
    queue = foregather.Broadcast(1, 1 << 14, skip=skip)
    with queue.writer() as writer, queue.reader(1) as reader:
        lost = 0
        for step in itertools.count():
            writer.put(step)
            received, got = reader.received, []
            was_stopped = stopped(step, lambda: use(reader, got))
            was_taken = reader.received > received
            rest = all_read(reader)
            # A message that was not taken stays.
            assert rest == ([] if was_taken else [step]) and reader.received == step + 1
            if not was_stopped:
                assert got == [step]
                break
            lost += was_taken and got == []
        # What the caller does with the message after the call is out of reach, but not within a block.
        assert step > 10 and (lost == 0 or use not in (by_read, by_stack))


@pytest.mark.parametrize("size", [10, 5000])
def test_a_message_stays_when_its_unpickling_is_interrupted(size: int) -> None:
    queue = foregather.Broadcast(1, 1 << 10)

    def get(got: list[int]) -> None:
        got.append(reader.get(timeout=20)[0].number)

    with queue.writer() as writer, queue.reader(1) as reader:
        for step in itertools.count():
            sending = threading.Thread(target=lambda: writer.put([Unpickled(step), bytes(size)], timeout=20))
            sending.start()
            got: list[int] = []
            was_stopped = stopped(step, lambda: get(got), lambda code: code is _unpickled.__code__, KeyboardInterrupt)
            if was_stopped:
                assert reader.received == step and reader.ready()
                get(got)
            sending.join(20)
            assert reader.received == step + 1 and got == [step]
            if not was_stopped:
                break
        assert step > 3


def put_by(writer: foregather.Writer) -> None:
    writer.put("message", timeout=5)


def send_by(writer: foregather.Writer) -> None:
    writer.send(b"message", timeout=5)


def send_parts_by(writer: foregather.Writer) -> None:
    writer.send_parts([b"message"], timeout=5)


@pytest.mark.parametrize("use", [put_by, send_by, send_parts_by])
def test_a_writer_outlives_an_exception_at_any_instruction(use: Callable[..., None]) -> None:
    queue = foregather.Broadcast(1, 1 << 14)
    with queue.writer() as writer, queue.reader(1) as reader:
        for step in itertools.count():
            sent = writer.sent
            was_stopped = stopped(step, lambda: use(writer))
            assert reader.ready() == (writer.sent > sent)
            if writer.sent > sent:
                reader.recv()
            if not was_stopped:
                assert writer.sent > sent
                break
        assert step > 3


def test_a_barrier_outlives_an_exception_at_any_instruction() -> None:
    barrier = foregather.Barrier(2)
    steps = [0]
    ends = threading.Event()

    def partner() -> None:
        with barrier.member(1) as member:
            while not ends.is_set():
                member.wait(timeout=20)
                steps[0] += 1

    def use(member: foregather.Member) -> None:
        member.wait(timeout=20)

    thread = threading.Thread(target=partner)
    thread.start()
    with barrier.member(0) as member:
        for step in itertools.count():
            was_stopped = stopped(step, lambda: use(member))
            # The program can tell whether the interrupted wait was completed.
            if member.completed == step:
                use(member)
            assert member.completed == step + 1
            if not was_stopped:
                break
        ends.set()
        with contextlib.suppress(foregather.PeerFailed):
            member.wait(timeout=20)
        thread.join(20)
    assert step > 3 and not thread.is_alive()


def test_a_block_ends_its_end_at_any_instruction() -> None:
    def use(queue: foregather.Broadcast) -> None:
        with queue.writer() as writer:
            writer.send(b"message")

    for step in itertools.count():
        queue = foregather.Broadcast(1, 1 << 12)
        with queue.reader(1) as reader:
            was_stopped = stopped(step, lambda: use(queue))
            try:
                while True:
                    reader.recv(timeout=0)
            except (foregather.Closed, foregather.PeerFailed):
                pass
            except foregather.TimedOut:
                # It stopped before the end was taken.
                queue.writer()
            if not was_stopped:
                break
    assert step > 10


@pytest.mark.parametrize(
    ("make", "take"),
    [
        (lambda: foregather.Broadcast(1, 1 << 12), lambda queue: queue.writer()),
        (lambda: foregather.Broadcast(1, 1 << 12), lambda queue: queue.reader(1)),
        (lambda: foregather.Channel(1 << 12), lambda queue: queue.sender()),
        (lambda: foregather.Channel(1 << 12), lambda queue: queue.receiver()),
        (lambda: foregather.Barrier(2), lambda barrier: barrier.member(1)),
    ],
)
def test_a_rank_stays_free_when_the_package_is_interrupted(make: Callable[[], Any], take: Callable[[Any], Any]) -> None:
    for step in itertools.count():
        of = make()
        if not stopped(step, lambda: take(of), lambda code: code.co_filename.startswith(PACKAGE)):
            break
        take(of)
    assert step > 0


def test_exceptions_of_signals_leave_a_reader_usable() -> None:
    armed: list[bool] = []

    def stop(*_: object) -> None:
        if armed:
            raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    queue, chance = foregather.Broadcast(1, 1 << 14), random.Random(1)
    try:
        with queue.writer() as writer, queue.reader(1) as reader:
            for number in range(400):
                writer.put(number)
                received = reader.received
                while reader.received == received:
                    try:
                        armed.append(True)
                        signal.setitimer(signal.ITIMER_REAL, chance.random() * 1e-4 + 2e-6)
                        assert reader.get(timeout=5) == number
                    except Stop:
                        pass
                    armed.clear()
                assert reader.received == received + 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_message_that_cannot_be_unpickled_is_passed_and_named() -> None:
    module = types.ModuleType("foregather_test_gone")
    exec("class Gone: pass", module.__dict__)
    sys.modules[module.__name__] = module
    for bytes, skip in [(1 << 14, False), (1 << 14, True)]:
        queue = foregather.Broadcast(1, bytes, skip=skip, name="jobs")
        with queue.writer() as writer, queue.reader(1) as reader:
            sys.modules[module.__name__] = module
            for number in range(3):
                writer.put([number, module.Gone()])
            writer.put("last")
            writer.send(b"no object")
            writer.send(b"\xff" * 100)
            writer.put("very last")
            del sys.modules[module.__name__]
            for number in range(3):
                with pytest.raises(foregather.BadMessage, match=f'broadcast "jobs": message {number + 1} .*foregather_test_gone') as bad:
                    reader.get(timeout=5)
                assert bad.value.message == number + 1 == reader.received
                assert isinstance(bad.value.__cause__, ModuleNotFoundError)
            assert reader.get(timeout=5) == "last"
            for _ in range(2):
                with pytest.raises(foregather.BadMessage, match="recv"):
                    reader.get(timeout=5)
            assert reader.get(timeout=5) == "very last"


def test_a_writer_goes_on_although_no_message_can_be_unpickled() -> None:
    queue = foregather.Broadcast(1, 1 << 12)
    with queue.writer() as writer, queue.reader(1) as reader:
        for _ in range(100):
            writer.send(b"x" * 500, timeout=5)
            with pytest.raises(foregather.BadMessage):
                reader.get(timeout=5)
