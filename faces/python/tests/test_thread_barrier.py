"""`foregather.threading.Barrier` does what `threading.Barrier` does."""

import collections
import gc
import os
import random
import signal
import threading
import time
import unittest
import weakref
from collections.abc import Callable

import pytest

from foregather.threading import Barrier

try:
    from test import lock_tests
except ImportError:
    lock_tests = None  # type: ignore[assignment]


@pytest.mark.skipif(lock_tests is None, reason="this interpreter came without its tests")
def test_the_tests_of_the_standard_library_pass() -> None:
    class BarrierTests(lock_tests.BarrierTests):  # type: ignore[misc, name-defined]
        barriertype = staticmethod(Barrier)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(BarrierTests).run(result)
    assert result.wasSuccessful() and result.testsRun > 10, result.failures + result.errors


def joined(*bodies: Callable[[], object]) -> None:
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_each_meeting_has_each_index_once_whatever_the_number_of_threads() -> None:
    meetings, parties, threads = 600, 3, 9
    left = threading.Semaphore(meetings * parties)
    numbers: collections.Counter[int] = collections.Counter()
    called: list[int] = []
    barrier = Barrier(parties, lambda: called.append(0), timeout=20)

    def work() -> None:
        while left.acquire(blocking=False):
            numbers[barrier.wait()] += 1

    joined(*[work] * threads)
    assert numbers == dict.fromkeys(range(parties), meetings)
    assert len(called) == meetings
    assert not barrier.broken and barrier.n_waiting == 0 and barrier.parties == parties


def test_threads_keep_step() -> None:
    parties, steps = 4, 300
    barrier, reached = Barrier(parties, timeout=20), [0] * 4

    def work(rank: int) -> None:
        chance = random.Random(rank)
        for step in range(steps):
            reached[rank] = step
            if chance.random() < 0.02:
                time.sleep(0.001)
            barrier.wait()
            assert min(reached) >= step
            barrier.wait()

    joined(*[lambda rank=rank: work(rank) for rank in range(parties)])  # type: ignore[misc]
    assert reached == [steps - 1] * parties


def test_an_episode_is_complete_with_its_own_threads_alone() -> None:
    began, goes_on, ends = threading.Event(), threading.Event(), []

    def action() -> None:
        if not began.is_set():
            began.set()
            assert goes_on.wait(20)

    barrier = Barrier(2, action, timeout=20)
    first = [threading.Thread(target=lambda: ends.append(barrier.wait())) for _ in range(2)]
    for thread in first:
        thread.start()
    assert began.wait(20)
    # Episodes of other threads pass while the first one is in its action.
    for _ in range(4):
        joined(*[barrier.wait] * 2)
    assert ends == []
    goes_on.set()
    for thread in first:
        thread.join(20)
    assert sorted(ends) == [0, 1]


def test_an_action_that_fails_breaks_it_for_all() -> None:
    def action() -> None:
        raise KeyError("as planned")

    barrier, ends = Barrier(3, action), []

    def work() -> None:
        try:
            barrier.wait(timeout=20)
        except Exception as error:
            ends.append(type(error))

    joined(work, work, work)
    assert sorted(ends, key=str) == sorted([KeyError, threading.BrokenBarrierError, threading.BrokenBarrierError], key=str)
    with pytest.raises(threading.BrokenBarrierError, match="its action failed; call reset"):
        barrier.wait()


def test_a_timeout_breaks_it_and_reset_mends_it() -> None:
    barrier, ends = Barrier(3), []

    def work() -> None:
        with pytest.raises(threading.BrokenBarrierError, match="2 of 3 arrived within") as error:
            barrier.wait(timeout=20)
        ends.append(error)

    def late() -> None:
        while barrier.n_waiting < 1:
            time.sleep(0.001)
        with pytest.raises(threading.BrokenBarrierError, match=r"2 of 3 arrived within (4\d\d|5\d\d|\d\d\d\d)\.\d\d ms|within [\d.]+ s"):
            barrier.wait(timeout=0.45)

    joined(work, late)
    assert barrier.broken and barrier.n_waiting == 0 and len(ends) == 1
    began = time.monotonic()
    for _ in range(3):
        with pytest.raises(threading.BrokenBarrierError):
            barrier.wait()
    assert time.monotonic() - began < 1
    barrier.reset()
    assert not barrier.broken
    joined(*[lambda: barrier.wait(timeout=20)] * 3)


def test_an_interrupted_wait_raises_in_all_and_reset_mends_it() -> None:
    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    barrier, ends = Barrier(3), []

    def work() -> None:
        try:
            barrier.wait(timeout=20)
        except threading.BrokenBarrierError as error:
            ends.append(str(error))

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(3):
            thread = threading.Thread(target=work)
            thread.start()
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(Stop):
                barrier.wait(timeout=20)
            thread.join(20)
            assert not thread.is_alive() and barrier.broken
            barrier.reset()
            joined(*[lambda: barrier.wait(timeout=20)] * 3)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(ends) == 3 and all("interrupted" in end for end in ends)


def test_abort_and_reset_release_those_that_wait_and_nobody_else() -> None:
    for call, broken in [(Barrier.abort, True), (Barrier.reset, False)]:
        for _ in range(50):
            barrier, ends = Barrier(2), []

            def work() -> None:
                # The first meeting is complete before the call, whatever the thread has seen of it.
                ends.append(barrier.wait(timeout=20))
                try:
                    barrier.wait(timeout=20)
                except threading.BrokenBarrierError as error:
                    ends.append(str(error))

            thread = threading.Thread(target=work)
            thread.start()
            barrier.wait(timeout=20)
            while barrier.n_waiting == 0:
                time.sleep(0)
            call(barrier)
            thread.join(20)
            assert len(ends) == 2 and f"another thread has {'aborted' if broken else 'reset'} it" in ends[1]
            assert barrier.broken == broken


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_a_fork_has_a_barrier_of_its_own() -> None:
    barrier = Barrier(2)
    thread = threading.Thread(target=lambda: barrier.wait(timeout=20))
    thread.start()
    while barrier.n_waiting == 0:
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if barrier.n_waiting == 0:
                joined(*[lambda: barrier.wait(timeout=5)] * 2)
                status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    barrier.wait(timeout=20)
    thread.join(20)
    assert not barrier.broken


def test_it_goes_away_with_what_its_action_refers_to() -> None:
    class Owner:
        def __init__(self) -> None:
            self.barrier = Barrier(1, self.act)

        def act(self) -> None:
            pass

    owner = Owner()
    assert owner.barrier.wait() == 0
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None
