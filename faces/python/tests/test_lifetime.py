"""Handles and their ends: threads at once, the interpreter's exit, forks, subinterpreters."""

import importlib.util
import os
import subprocess
import sys
import threading
import time

import pytest

import foregather


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Runs a program that must end by itself."""
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=30, check=False)


def test_one_handle_in_several_threads_at_once_takes_one_call_at_a_time() -> None:
    queue = foregather.Broadcast(1, 1 << 12)
    threads, each = 4, 500
    refused: list[foregather.Error] = []
    got: list[bytes] = []
    left = threading.Semaphore(threads * each)

    def again(call: object) -> object:
        while True:
            try:
                return call()  # type: ignore[operator]
            except foregather.TimedOut:
                raise
            except foregather.Error as error:
                refused.append(error)
                time.sleep(1e-5)

    with queue.writer() as writer, queue.reader(1) as reader:

        def send(rank: int) -> None:
            for number in range(each):
                again(lambda: writer.send(b"%d %d" % (rank, number), timeout=20))

        def receive() -> None:
            while left.acquire(blocking=False):
                got.append(again(lambda: reader.recv(timeout=20)))  # type: ignore[arg-type]

        all_threads = [threading.Thread(target=send, args=(rank,)) for rank in range(threads)]
        all_threads += [threading.Thread(target=receive) for _ in range(threads)]
        for thread in all_threads:
            thread.start()
        for thread in all_threads:
            thread.join(60)
            assert not thread.is_alive()
    assert sorted(got) == sorted(b"%d %d" % (rank, number) for rank in range(threads) for number in range(each))
    assert all("one at a time" in str(error) for error in refused)


def test_a_handle_cannot_be_closed_under_a_call() -> None:
    queue = foregather.Channel()
    with queue.sender() as writer:
        reader = queue.receiver()
        got: list[bytes] = []
        thread = threading.Thread(target=lambda: got.append(reader.recv()))
        thread.start()
        while True:
            try:
                reader.ready()
            except foregather.Error as busy:
                assert "another thread" in str(busy)
                break
        for call in (reader.close, reader.fail, reader.get):
            with pytest.raises(foregather.Error, match="one at a time"):
                call()
        writer.send(b"x")
        thread.join(20)
        assert got == [b"x"]
        reader.close()


def test_a_message_that_is_shown_is_passed_once() -> None:
    queue = foregather.Channel()
    with queue.sender() as writer, queue.receiver() as reader:
        for message in (b"one", b"two", b"three"):
            writer.send(message)
        with reader.read() as view:
            for call in (reader.recv, reader.get, reader.ready, reader.read().__enter__, lambda: next(iter(reader))):
                with pytest.raises(foregather.Error, match="end the block"):
                    call()
            assert view == b"one"
        with pytest.raises(KeyError), reader.read() as view:
            assert view == b"two"
            raise KeyError
        assert reader.recv() == b"two"
        with reader.read() as view:
            reader.close()
            assert view == b"three"
        with pytest.raises(foregather.Error, match="closed"):
            reader.recv()


def test_threads_meet() -> None:
    barrier, times = foregather.Barrier(3), 300
    reached = [0] * 3

    def meet(rank: int) -> None:
        with barrier.member(rank) as member:
            for number in range(times):
                reached[rank] = number
                member.wait(timeout=20)
                assert min(reached) >= number
                member.wait(timeout=20)

    others = [threading.Thread(target=meet, args=(rank,)) for rank in (1, 2)]
    for thread in others:
        thread.start()
    meet(0)
    for thread in others:
        thread.join(20)
    assert reached == [times - 1] * 3


def test_the_interpreter_ends_although_a_daemon_thread_waits() -> None:
    code = """
import foregather, threading, time
queue, other, barrier = foregather.Channel(), foregather.Channel(), foregather.Barrier(2)
writer, reader, kept, member = queue.sender(), queue.receiver(), other.sender(), barrier.member(0)
for wait in (reader.recv, member.wait):
    threading.Thread(target=wait, daemon=True).start()
time.sleep(.05)
end = other.receiver()
class Last:
    # The threads' slices end meanwhile.
    def __del__(self, sleep=time.sleep):
        sleep(.5)
        print("ends")
last = Last()
"""
    began = time.monotonic()
    ended = run(code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ends\n", "")
    assert time.monotonic() - began < 10


def test_what_a_daemon_thread_waits_with_is_lost_and_the_rest_is_closed() -> None:
    code = """
import foregather, multiprocessing, threading, time
def child(busy, idle, there):
    global kept
    reader, kept = busy.receiver(), idle.sender()
    threading.Thread(target=reader.recv, daemon=True).start()
    kept.send(b"here")
    there.wait(20)
busy, idle = foregather.Channel(1 << 10), foregather.Channel()
there = multiprocessing.Event()
process = multiprocessing.Process(target=child, args=(busy, idle, there))
process.start()
writer, reader = busy.sender(), idle.receiver()
assert reader.recv(timeout=20) == b"here"
there.set()
process.join(20)
assert process.exitcode == 0
try:
    reader.recv(timeout=20)
except foregather.Closed:
    print("closed")
try:
    while True:
        writer.send(bytes(100), timeout=20)
except foregather.PeerLost as lost:
    print("lost", lost.rank)
"""
    ended = run(code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "closed\nlost 1\n", "")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_that_is_forked_during_a_call_is_refused_and_the_call_goes_on() -> None:
    queue = foregather.Channel()
    with queue.sender() as writer, queue.receiver() as reader:
        got: list[bytes] = []
        thread = threading.Thread(target=lambda: got.append(reader.recv()))
        thread.start()
        time.sleep(0.05)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                reader.recv(timeout=0)
            except foregather.Error as error:
                status = 0 if "parent process" in str(error) else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        writer.send(b"still here")
        thread.join(20)
        assert got == [b"still here"]


SUBINTERPRETER = """
import {module} as interpreters
made = interpreters.create()
code = '''
try:
    import foregather
    barrier = foregather.Barrier(1)
    barrier.member(0).wait()
except ImportError as error:
    print(error, flush=True)
'''
failed = {run}
import foregather
foregather.Barrier(1).member(0).wait()
print(failed)
"""


def test_a_subinterpreter_is_refused_and_the_main_one_works() -> None:
    for module, call in (
        ("_interpreters", "interpreters.exec(made, code)"),
        ("_xxsubinterpreters", "interpreters.run_string(made, code)"),
    ):
        if importlib.util.find_spec(module) is not None:
            break
    else:
        pytest.skip("this interpreter has no subinterpreters")
    for first in ("", "import foregather\n"):
        ended = run(first + SUBINTERPRETER.format(module=module, run=call))
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.startswith("foregather works in the main interpreter") and ended.stdout.endswith("\nNone\n"), ended


@pytest.mark.skipif(not hasattr(sys, "_is_gil_enabled") or sys._is_gil_enabled(), reason="this interpreter has its lock")
def test_a_free_threaded_interpreter_stays_free() -> None:
    ended = run("import foregather, sys; print(sys._is_gil_enabled())")
    assert (ended.stdout, ended.stderr) == ("False\n", "")


def test_a_message_leaves_no_memory_behind() -> None:
    channel = foregather.Channel(size=1 << 16)
    sender, receiver = channel.sender(), channel.receiver()

    def some() -> int:
        for number in range(1_000):
            sender.put([0] * 400)
            assert len(receiver.get()) == 400
            sender.send(bytes(1_000))
            receiver.recv()
            sender.send(bytes(1_000))
            with receiver.read() as message:
                assert message.nbytes == 1_000
            with pytest.raises(foregather.TimedOut):
                receiver.get(timeout=0)
        return sys.getallocatedblocks()

    some()
    before = some()
    assert some() - before < 100
