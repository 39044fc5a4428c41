"""Barriers and queues between processes that never end, and a slow one that does, for `.ci/hang`.

usage: hangs.py barrier|free|queue|circle|threads|late
"""

import multiprocessing
import sys
import threading
import time

import foregather.threading
from foregather import Barrier, Channel


def member(kind, barrier, rank):
    if kind == "free" and rank == 2:
        time.sleep(1000)
    with barrier.member(rank) as own:
        if rank == 2:
            time.sleep(3 if kind == "late" else 1000)
        own.wait()


def worker(jobs, start):
    with start.member(1) as own:
        jobs.receiver().get()
        own.wait()


def with_worker(kind):
    jobs, start = Channel(1 << 16, name="jobs"), Barrier(2, name="start")
    sender, process = jobs.sender(), multiprocessing.Process(target=worker, args=(jobs, start))
    process.start()
    if kind == "queue":
        time.sleep(1000)
    start.member(0).wait()
    sender.put("a job that comes too late")


def thread(barrier, rank):
    time.sleep(1000 if rank == 2 else 0)
    barrier.wait()


if __name__ == "__main__":
    kind = sys.argv[1]
    if kind in ("queue", "circle"):
        with_worker(kind)
    elif kind == "threads":
        barrier = foregather.threading.Barrier(3)
        for rank in range(3):
            threading.Thread(target=thread, args=(barrier, rank)).start()
    else:
        barrier = Barrier(3, name="steps")
        members = [multiprocessing.Process(target=member, args=(kind, barrier, rank)) for rank in range(3)]
        for each in members:
            each.start()
        for each in members:
            each.join()
        sys.exit(7)
