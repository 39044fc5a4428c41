"""A reader's process dies: the others get every message, the writer is told once, and another process gets its place."""

import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import Any

import pytest

import foregather


def read_all(queue: foregather.Broadcast, rank: int, said: Connection, replaces: bool) -> None:
    with queue.replace(rank) if replaces else queue.reader(rank) as reader:
        said.send("in")
        numbers, missed = [], 0
        while True:
            try:
                numbers.append(reader.get(timeout=20))
            except foregather.Skipped as skipped:
                missed += skipped.messages
            except foregather.Closed:
                break
        said.send((numbers[0], numbers[-1], len(numbers) + missed))


def started(queue: foregather.Broadcast, rank: int, replaces: bool = False) -> tuple[Any, Connection]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=read_all, args=(queue, rank, theirs, replaces), daemon=True)
    process.start()
    assert ours.poll(20) and ours.recv() == "in"
    return process, ours


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("skip", [False, True])
def test_a_dead_reader_is_told_once_and_replaced(skip: bool) -> None:
    queue = foregather.Broadcast(2, 1 << 12, skip=skip, name="steps")
    (dies, _), (lives, living) = started(queue, 1), started(queue, 2)
    with queue.writer() as writer:
        for number in range(50):
            writer.put(number, timeout=20)
        with pytest.raises(foregather.Error, match="still runs"):
            queue.replace(1)
        dies.kill()
        dies.join()
        with pytest.raises(foregather.PeerLost, match=r'broadcast "steps": the process of reader 1 has died.*replace\(1\)') as lost:
            while True:
                writer.put(writer.sent, timeout=20)
        # The message was sent.
        assert lost.value.rank == 1 and writer.lost == [1]
        # More than the ring holds: nobody waits for the dead reader.
        for _ in range(1000):
            writer.put(writer.sent, timeout=20)
        assert writer.lost == [1]
        _, said = started(queue, 1, replaces=True)
        first = writer.sent
        for _ in range(1000):
            writer.put(writer.sent, timeout=20)
        assert writer.lost == []
        end = writer.sent
    assert living.poll(20) and said.poll(20)
    for connection, expected in ((living, 0), (said, first)):
        begin, last, count = connection.recv()
        assert begin == expected or skip and begin > expected
        # Whether messages that were missed before the first one count depends on whether it knew of them.
        assert last == end - 1 and end - begin <= count <= end - expected
    lives.join(20)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_channel_whose_receiver_died_goes_on_with_another() -> None:
    channel = foregather.Channel(1 << 12, name="jobs")
    process, _ = started(channel, 1)
    with channel.sender() as sender:
        process.kill()
        process.join()
        with pytest.raises(foregather.PeerLost, match='channel "jobs": the process of the receiver has died'):
            while True:
                sender.put("x", timeout=20)
        with channel.replace(1) as receiver:
            sender.put("y", timeout=20)
            assert receiver.get(timeout=20) == "y" and sender.lost == []


def test_only_the_place_of_a_dead_process_is_given_away() -> None:
    queue = foregather.Broadcast(2, 1 << 12)
    for rank, expected in [(0, "count from 1"), (3, "expected 1 to 2"), (-1, "expected 1 to 2")]:
        with pytest.raises(ValueError, match=expected):
            queue.replace(rank)
    with pytest.raises(foregather.Error, match="never"):
        queue.replace(1)
    reader = queue.reader(1)
    with pytest.raises(foregather.Error, match="still runs"):
        queue.replace(1)
    reader.close()
    with pytest.raises(foregather.Error, match="has left"):
        queue.replace(1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_member_of_a_barrier_learns_who_died() -> None:
    barrier, ours = foregather.Barrier(4), [multiprocessing.Pipe() for _ in range(3)]
    processes = [multiprocessing.get_context("fork").Process(target=meet, args=(barrier, rank, ours[rank][1]), daemon=True) for rank in range(3)]
    for process in processes:
        process.start()
    with barrier.member(3) as member:
        assert all(connection.poll(20) and connection.recv() == "in" for connection, _ in ours)
        time.sleep(0.02)
        processes[1].kill()
        with pytest.raises(foregather.PeerLost, match="rank 1") as lost:
            while True:
                member.wait(timeout=20)
        assert lost.value.rank == 1
        for rank in (0, 2):
            assert ours[rank][0].poll(20) and ours[rank][0].recv() == ("PeerLost", 1)


def meet(barrier: foregather.Barrier, rank: int, said: Connection) -> None:
    member = barrier.member(rank)
    said.send("in")
    try:
        while True:
            member.wait(timeout=20)
    except foregather.Error as error:
        said.send((type(error).__name__, getattr(error, "rank", None)))
