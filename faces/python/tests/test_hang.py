"""Barriers and queues between processes under `foregather hang`."""

import multiprocessing
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import foregather.threading
from foregather import Barrier, Channel, _lab

pytestmark = pytest.mark.usefixtures("needs_the_command")


def hang(process: int, expected: Callable[[str], bool]) -> tuple[int, str]:
    """Watches a process until `expected` accepts the sentence. A busy machine may need several looks."""
    deadline = time.monotonic() + 60
    while True:
        words = [_lab.command(), "hang", "--after", "500ms", "--job", str(process)]
        said = subprocess.run(words, capture_output=True, text=True, timeout=60)
        text = " ".join(said.stderr.split())
        if expected(text) or time.monotonic() > deadline:
            return said.returncode, text


@contextmanager
def running(*starts: tuple[Callable[..., None], tuple[Any, ...]]) -> Iterator[list[int]]:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=target, args=arguments, daemon=True) for target, arguments in starts]
    try:
        for process in processes:
            process.start()
        yield [process.pid or 0 for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.join()


def member(barrier: Barrier, rank: int) -> None:
    with barrier.member(rank) as own:
        if rank == 2:
            time.sleep(1000)
        own.wait()


def test_a_member_that_does_not_come_is_named_by_its_process() -> None:
    barrier = Barrier(3, name="steps")
    with running(*((member, (barrier, rank)) for rank in range(3))) as [first, second, late]:
        both = sorted([first, second])

        def is_whole(text: str) -> bool:
            waits = f"processes {both[0]} and {both[1]} wait for it (barrier \"steps\")"
            return f"not known to be hung: process {late} sleeps in " in text and waits in text

        code, text = hang(os.getpid(), is_whole)
        assert is_whole(text), text
        assert code == 0 and "dead" not in text


def test_a_rank_that_no_process_has_taken_is_named() -> None:
    barrier = Barrier(2)
    with running((member, (barrier, 0))) as [first]:
        expected = f"rank 1 is not taken by any process; process {first} waits for it (barrier)"
        code, text = hang(first, lambda text: expected in text)
        assert expected in text, text
        assert code == 0


def boss(jobs: Channel, start: Barrier) -> None:
    with jobs.sender() as sender, start.member(0) as own:
        own.wait()
        sender.put("a job that comes too late")


def worker(jobs: Channel, start: Barrier) -> None:
    with jobs.receiver() as receiver, start.member(1) as own:
        receiver.get()
        own.wait()


def test_processes_that_wait_for_each_other_at_two_objects_are_a_deadlock() -> None:
    jobs, start = Channel(1 << 16, name="jobs"), Barrier(2, name="start")
    with running((boss, (jobs, start)), (worker, (jobs, start))) as [first, second]:
        hops = [f'process {first} waits for process {second} (barrier "start")']
        hops.append(f'process {second} waits for process {first} (receive from channel "jobs")')

        def is_whole(text: str) -> bool:
            return "deadlock: cycle of waits: " in text and all(hop in text for hop in hops)

        code, text = hang(second, is_whole)
        assert is_whole(text), text
        assert code == 1


def threads(late_s: float) -> None:
    barrier = foregather.threading.Barrier(3)
    waiting = [threading.Thread(target=barrier.wait, daemon=True) for _ in range(2)]
    for each in waiting:
        each.start()
    time.sleep(late_s)


def test_a_thread_that_does_not_come_is_shown() -> None:
    with running((threads, (1000,))) as [process]:

        def is_whole(text: str) -> bool:
            return f"thread {process} (process {process}) sleeps in " in text and "2 of 3 arrived" in text

        code, text = hang(process, is_whole)
        assert is_whole(text), text
        assert code == 0
