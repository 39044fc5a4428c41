"""Queues between processes: what is received, and what is raised when it goes wrong."""

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import foregather

CONTEXTS = ["fork", "spawn", "forkserver"]


def echo(queue: foregather.Broadcast, rank: int, back: foregather.Channel) -> None:
    with queue.reader(rank) as reader, back.sender() as sender:
        for message in reader:
            sender.send(message)


def started(context: str, target: object, *arguments: object) -> multiprocessing.Process:
    process = multiprocessing.get_context(context).Process(target=target, args=arguments, daemon=True)  # type: ignore[attr-defined]
    process.start()
    return process


@pytest.mark.parametrize("context", CONTEXTS)
def test_processes_get_all_messages_in_order(context: str) -> None:
    queue = foregather.Broadcast(2, 1 << 16)
    backs = [foregather.Channel(1 << 16) for _ in range(2)]
    processes = [started(context, echo, queue, rank, backs[rank - 1]) for rank in (1, 2)]
    receivers = [back.receiver() for back in backs]
    messages = [bytes([number % 256]) * (number * 37 % 100_000) for number in range(100)]
    with queue.writer() as writer:
        for message in messages:
            writer.send(message, timeout=20)
            for receiver in receivers:
                assert receiver.recv(timeout=20) == message
    for process in processes:
        process.join(20)
        assert process.exitcode == 0


def test_objects_and_arrays_travel() -> None:
    queue = foregather.Broadcast(1)
    with queue.writer() as writer, queue.reader(1) as reader:
        array = np.arange(1_000_000, dtype=np.float32).reshape(1000, 1000)
        writer.put({"step": 7, "array": array, "names": ["a", "b"], "empty": np.zeros(0)})
        got = reader.get()
        assert got["step"] == 7 and got["names"] == ["a", "b"] and got["empty"].size == 0
        assert np.array_equal(got["array"], array)
        got["array"][0, 0] = 9
        writer.send(array[:10])
        with reader.read() as view:
            assert np.array_equal(np.frombuffer(view, dtype=np.float32), array[:10].ravel())
        writer.send_parts([b"one", memoryview(b"two"), bytearray(b"three"), np.frombuffer(b"four", dtype="S1")])
        assert reader.recv() == b"onetwothreefour"


@pytest.mark.parametrize("keep", [lambda view: np.frombuffer(view, dtype=np.uint8), lambda view: view[:], pickle.PickleBuffer, memoryview])
def test_a_view_that_outlives_its_block_is_an_error_and_keeps_the_message(keep: Callable[[memoryview], Any]) -> None:
    queue = foregather.Channel(1 << 12)
    with queue.sender() as writer, queue.receiver() as reader:
        writer.send(b"x" * 1000)
        kept = []
        with pytest.raises(BufferError, match="still shows the message"):
            with reader.read() as view:
                kept.append(keep(view))
        assert bytes(kept.pop()) == b"x" * 1000
        assert reader.recv() == b"x" * 1000


def test_bad_input_names_the_parameter() -> None:
    for readers, size in [(0, 1 << 20), (2000, 1 << 20), (1, 1)]:
        with pytest.raises(ValueError, match="broadcast"):
            foregather.Broadcast(readers, size)
    queue = foregather.Broadcast(1)
    with pytest.raises(ValueError, match="rank"):
        queue.reader(2)
    with queue.writer() as writer, queue.reader(1) as reader:
        with pytest.raises(ValueError, match="rank"):
            queue.writer()
        with pytest.raises(TypeError, match="message"):
            writer.send("text")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="parts"):
            writer.send_parts([b"x", 7])  # type: ignore[list-item]
        with pytest.raises(BufferError, match="contiguous"):
            writer.send(np.zeros((4, 4))[:, ::2])
        for wrong in (-1, float("nan")):
            with pytest.raises(ValueError, match="timeout"):
                reader.recv(timeout=wrong)
        with pytest.raises(TypeError):
            reader.recv(timeout="soon")  # type: ignore[arg-type]
    with pytest.raises(foregather.Error, match="closed"):
        writer.send(b"x")
    with pytest.raises(foregather.Error, match="closed"):
        reader.recv()


def test_timeouts_name_the_rank_and_lose_nothing() -> None:
    queue = foregather.Channel(1 << 10)
    with queue.sender() as writer, queue.receiver() as reader:
        with pytest.raises(TimeoutError) as late:
            reader.recv(timeout=0.02)
        assert isinstance(late.value, foregather.TimedOut) and late.value.rank == 0
        with pytest.raises(foregather.TimedOut) as full:
            for _ in range(100):
                writer.send(b"7" * 200, timeout=0.02)
        assert full.value.rank == 1
        assert reader.recv() == b"7" * 200
        assert pickle.loads(pickle.dumps(full.value)).rank == 1


def test_a_slow_reader_is_skipped_where_that_was_asked_for() -> None:
    queue = foregather.Broadcast(1, 1 << 10, skip=True)
    with queue.writer() as writer, queue.reader(1) as reader:
        for number in range(100):
            writer.send(bytes([number]) * 50)
        with pytest.raises(foregather.Skipped) as skipped:
            reader.recv()
        assert 50 < skipped.value.messages < 100
        assert reader.recv() == bytes([skipped.value.messages]) * 50
        assert reader.received == skipped.value.messages + 1
        with reader.read() as copy:
            assert copy == bytes([skipped.value.messages + 1]) * 50


def read_for_ever(queue: foregather.Broadcast) -> None:
    reader = queue.reader(1)
    while True:
        reader.recv()


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_killed_reader_is_named(context: str) -> None:
    queue = foregather.Broadcast(1, 1 << 12)
    process = started(context, read_for_ever, queue)
    with queue.writer() as writer:
        for _ in range(20):
            writer.send(b"x" * 1000, timeout=20)
        process.kill()
        began = time.monotonic()
        with pytest.raises(foregather.PeerLost) as lost:
            while True:
                writer.send(b"x" * 1000, timeout=20)
        assert lost.value.rank == 1 and time.monotonic() - began < 5


def write_and_wait(queue: foregather.Broadcast, fails: bool) -> None:
    with queue.writer() as writer:
        writer.send(b"first")
        if fails:
            raise KeyError("as planned")
        time.sleep(60)


@pytest.mark.parametrize("fails", [False, True])
def test_a_killed_or_failed_writer_is_named_once_all_is_read(fails: bool) -> None:
    queue = foregather.Broadcast(1)
    with queue.reader(1) as reader:
        process = started("fork", write_and_wait, queue, fails)
        assert reader.recv(timeout=20) == b"first"
        if not fails:
            process.kill()
        with pytest.raises(foregather.PeerFailed if fails else foregather.PeerLost) as lost:
            reader.recv(timeout=20)
        assert lost.value.rank == 0


def test_ctrl_c_ends_every_wait() -> None:
    queue, barrier = foregather.Channel(1 << 10), foregather.Barrier(2)
    with queue.sender() as writer, queue.receiver() as reader, barrier.member(0) as member:
        while True:
            try:
                writer.send(b"x" * 200, timeout=0.01)
            except foregather.TimedOut:
                break
        full = lambda: writer.send(b"x" * 200)  # noqa: E731
        empty = foregather.Channel()
        with empty.receiver() as other:
            for wait in (full, other.recv, member.wait):
                interrupt = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
                interrupt.start()
                with pytest.raises(KeyboardInterrupt):
                    wait()
                interrupt.join()
        assert reader.ready()


def test_other_threads_run_meanwhile() -> None:
    queue = foregather.Channel()
    with queue.sender() as writer, queue.receiver() as reader:
        got: list[bytes] = []
        thread = threading.Thread(target=lambda: got.append(reader.recv()))
        thread.start()
        time.sleep(0.05)
        with pytest.raises(RuntimeError):
            reader.recv(timeout=0)
        writer.send(b"hello")
        thread.join(20)
        assert got == [b"hello"]


def use_the_parents(writer: foregather.Writer, refused: foregather.Channel) -> None:
    with refused.sender() as sender:
        try:
            writer.send(b"x")
            sender.send(b"sent")
        except foregather.Error as error:
            sender.send(str(error).encode())


def test_a_handle_after_a_fork_is_an_error_and_the_parents_goes_on() -> None:
    queue, refused = foregather.Channel(), foregather.Channel()
    with queue.sender() as writer, queue.receiver() as reader, refused.receiver() as said:
        process = started("fork", use_the_parents, writer, refused)
        assert b"parent process" in said.recv(timeout=20)
        process.join(20)
        writer.send(b"still here")
        assert reader.recv(timeout=20) == b"still here"


def meet(barrier: foregather.Barrier, times: int, stays: bool) -> None:
    member = barrier.member(1)
    for _ in range(times):
        member.wait()
    if stays:
        time.sleep(60)


@pytest.mark.parametrize("context", CONTEXTS)
def test_processes_meet_and_a_killed_one_is_named(context: str) -> None:
    barrier = foregather.Barrier(2)
    process = started(context, meet, barrier, 100, True)
    with barrier.member(0) as member:
        for _ in range(100):
            member.wait(timeout=20)
        with pytest.raises(foregather.TimedOut) as late:
            member.wait(timeout=0.02)
        assert late.value.rank == 1
        process.kill()
        with pytest.raises(foregather.PeerLost) as lost:
            member.wait(timeout=20)
        assert lost.value.rank == 1


def test_a_process_that_ends_in_order_is_not_missed() -> None:
    queue = foregather.Broadcast(2, 1 << 10)
    process = started("fork", read_three, queue)
    with queue.writer() as writer, queue.reader(2) as reader:
        for number in range(100):
            writer.send(b"x" * 100, timeout=20)
            assert reader.recv() == b"x" * 100
            if number == 50:
                process.join(20)
                assert process.exitcode == 0


def read_three(queue: foregather.Broadcast) -> None:
    global kept
    kept = queue.reader(1)
    for _ in range(3):
        kept.recv()


def test_plans_and_documents_are_arrays(tmp_path: object) -> None:
    try:
        run = foregather.simulate("fig1", sweep__load="[32]", run__seeds=1)
    except foregather.Error as error:
        pytest.skip(str(error))
    columns = run.arrays()
    assert len(run) == len(columns["load"]) > 3 and set(columns["load"]) == {32.0} and columns["p50"].max() <= 100
    with pytest.raises(foregather.Error, match="plan"):
        foregather.simulate({"tittle": "x"})
    with pytest.raises(TypeError, match="plan"):
        foregather.simulate({"title": object()})
