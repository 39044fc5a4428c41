"""Calls of the extension that reach into memory, in one process: `.ci/python` runs them under valgrind."""

import os

import foregather
from foregather import _foregather

queue = foregather.Broadcast(readers=1)
assert _foregather.Queue.attach(queue.fileno()).readers == 1
with queue.reader(1) as reader, queue.writer() as writer:
    for length in (0, 1, 63, 64, 65, 4096, 300_000):
        message = os.urandom(length)
        writer.send(bytearray(message))
        assert reader.recv() == message
        writer.send(memoryview(message))
        with reader.read() as view:
            assert view == message
        sent = {"name": length, "buffer": bytearray(message)}
        writer.put(sent)
        assert reader.get() == sent
        writer.send(message)
        try:
            reader.get()
        except foregather.BadMessage:
            continue
        raise AssertionError("`put` did not send this message")
print("messages are read within their bounds")
