"""Readers in an event loop of asyncio: waits let other tasks go on, and a cancelled one takes no message."""

import asyncio
import multiprocessing
import os
import random
import threading
import time
from typing import Any

import pytest

import foregather


def within(main: Any, limit_s: float = 30) -> Any:
    return asyncio.run(asyncio.wait_for(main, limit_s))


def helpers() -> int:
    return sum(thread.name == "foregather-reader" for thread in threading.enumerate())


def test_other_tasks_run_while_one_waits() -> None:
    channel = foregather.Channel()

    async def main() -> "tuple[Any, bytes, int]":
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        with channel.receiver() as receiver, channel.sender() as sender:
            ticking = asyncio.create_task(tick())
            waiting = asyncio.create_task(receiver.get_async())
            await asyncio.sleep(0.3)
            assert not waiting.done()
            sender.put({"a": 1})
            got = await waiting
            ticking.cancel()
            sender.send(b"there")
            return got, await receiver.recv_async(), ticks

    got, message, ticks = within(main())
    assert (got, message) == ({"a": 1}, b"there") and ticks > 10


def test_a_message_that_is_there_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = foregather.Channel()
    monkeypatch.setattr(threading, "Thread", None)

    async def main() -> Any:
        with channel.receiver() as receiver, channel.sender() as sender:
            sender.put(1)
            return await receiver.get_async()

    assert within(main()) == 1


@pytest.mark.parametrize("skip", [False, True])
def test_a_cancelled_wait_loses_nothing(skip: bool) -> None:
    channel, count, dice = foregather.Channel(skip=skip), 300, random.Random(1)

    async def main() -> "list[Any]":
        got: list[Any] = []
        with channel.receiver() as receiver, channel.sender() as sender:

            async def produce() -> None:
                for number in range(count):
                    sender.put(number)
                    await asyncio.sleep(dice.random() * 0.002)

            producing = asyncio.create_task(produce())
            while len(got) < count:
                waiting = asyncio.create_task(receiver.get_async())
                await asyncio.sleep(dice.random() * 0.002)
                waiting.cancel()
                try:
                    got.append(await waiting)
                except asyncio.CancelledError:
                    # The reader is free at once: no thread is left in a call with it.
                    receiver.ready()
            await producing
        return got

    assert within(main(), 120) == list(range(count))
    assert helpers() == 0


def test_a_timeout_ends_in_time_and_leaves_the_reader_usable() -> None:
    channel = foregather.Channel()

    async def main() -> float:
        with channel.receiver() as receiver, channel.sender() as sender:
            began = time.monotonic()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(receiver.get_async(), 0.2)
            took = time.monotonic() - began
            sender.put("later")
            assert receiver.get(timeout=0) == "later"
            return took

    assert 0.2 <= within(main()) < 5


def test_a_wait_burns_no_processor() -> None:
    channel = foregather.Channel()

    async def main() -> float:
        with channel.receiver() as receiver, channel.sender():
            before = time.process_time()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(receiver.get_async(), 2)
            return time.process_time() - before

    assert within(main()) < 0.5


def test_a_queue_is_an_asynchronous_iterator() -> None:
    channel = foregather.Channel()

    async def main() -> "list[bytes]":
        with channel.receiver() as receiver:
            sender = channel.sender()

            async def produce() -> None:
                for number in range(5):
                    sender.send(b"%d" % number)
                    await asyncio.sleep(0.01)
                sender.close()

            producing = asyncio.create_task(produce())
            got = [message async for message in receiver]
            await producing
            with pytest.raises(foregather.Closed):
                await receiver.get_async()
            return got

    assert within(main()) == [b"0", b"1", b"2", b"3", b"4"]


def test_two_tasks_at_one_reader_are_refused() -> None:
    channel = foregather.Channel()

    async def main() -> None:
        with channel.receiver() as receiver, channel.sender() as sender:
            first = asyncio.create_task(receiver.get_async())
            while helpers() == 0:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            with pytest.raises(foregather.Error, match="takes one at a time"):
                await receiver.get_async()
            sender.put(1)
            assert await first == 1

    within(main())


def test_what_a_cancelled_wait_missed_is_reported_by_the_next_call() -> None:
    channel = foregather.Channel(size=4096, skip=True)
    with channel.receiver() as receiver, channel.sender() as sender:
        for number in range(1000):
            sender.put(number)
        # What the thread of a wait does, whose task is cancelled then.
        assert receiver._is_ready_within(1)
        assert receiver.ready()
        with pytest.raises(foregather.Skipped) as missed:
            receiver.get(timeout=1)
        assert missed.value.messages > 0
        assert receiver.get(timeout=1) == missed.value.messages


def die(channel: foregather.Channel) -> None:
    sender = channel.sender()
    sender.put("last")
    os._exit(1)


def test_a_dead_writer_is_named() -> None:
    channel = foregather.Channel(name="jobs")

    async def main() -> None:
        with channel.receiver() as receiver:
            process = multiprocessing.Process(target=die, args=(channel,))
            process.start()
            assert await receiver.get_async() == "last"
            with pytest.raises(foregather.PeerLost, match='channel "jobs": the process of the sender has died'):
                await receiver.get_async()
            process.join()

    within(main())


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib import metadata

    assert foregather.__version__ == metadata.version("foregather")
