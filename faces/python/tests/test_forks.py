"""Children that are forked before, during and after the first use of the package."""

import multiprocessing
import random
import subprocess
import sys

import pytest

import foregather
import foregather.threading

FIRST_USE = """
import faulthandler, foregather, foregather.threading, os, sys, threading, time

def use():
    began.set()
    channel = foregather.Channel(1 << 12)
    with channel.sender() as sender, channel.receiver() as reader:
        for number in range(30):
            sender.put([number, bytes(number)], timeout=5)
            assert reader.get(timeout=5)[0] == number
        try:
            reader.recv(timeout=.001)
        except foregather.TimedOut:
            pass
    with foregather.Barrier(1).member(0) as member:
        member.wait(timeout=5)
    assert foregather.threading.Barrier(1).wait(timeout=5) == 0

began = threading.Event()
user = threading.Thread(target=use)
when, after_s = sys.argv[1], float(sys.argv[2])
if when != "before":
    user.start()
    began.wait()
    time.sleep(after_s)
if when == "after":
    user.join()
child = os.fork()
if child == 0:
    faulthandler.dump_traceback_later(10, exit=True)
    status = 1
    try:
        use()
        status = 0
    finally:
        os._exit(status)
if when == "before":
    user.start()
ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
user.join()
sys.exit(ended)
"""


@pytest.mark.parametrize("when", ["before", "during", "after"])
def test_a_child_can_use_the_package(when: str) -> None:
    chance = random.Random(when)
    for _ in range(8 if when == "during" else 1):
        arguments = [sys.executable, "-c", FIRST_USE, when, str(chance.random() * 0.01)]
        ended = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 0, ended.stderr


def in_child(queue: foregather.Broadcast, barrier: foregather.Barrier, answers: foregather.Channel) -> None:
    with queue.reader(1) as reader, answers.sender() as sender, barrier.member(1) as member:
        got = reader.get(timeout=20)
        member.wait(timeout=20)
        sender.put([got, foregather.threading.Barrier(1).wait(), queue.name])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_every_start_method_works_after_the_first_use(method: str) -> None:
    queue, answers, barrier = foregather.Broadcast(1, name="steps"), foregather.Channel(), foregather.Barrier(2)
    with queue.writer() as writer, answers.receiver() as reader, barrier.member(0) as member:
        with pytest.raises(foregather.TimedOut):
            reader.get(timeout=0.001)
        process = multiprocessing.get_context(method).Process(target=in_child, args=(queue, barrier, answers))  # type: ignore[attr-defined]
        process.start()
        writer.put({"step": 1})
        member.wait(timeout=20)
        assert reader.get(timeout=20) == [{"step": 1}, 0, "steps"]
        process.join(20)
        assert process.exitcode == 0
