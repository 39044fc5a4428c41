"""One writer, one reader, messages with given gaps, through a queue of Python. Prints how late the reader had them,
its processor time, and the time."""

import json
import os
import sys
import time

AWAKE_NS = 300_000


class Foregather:
    def __init__(self):
        import foregather

        self.queue = foregather.Channel(1 << 16)

    def writer(self):
        return self.queue.sender().send

    def reader(self):
        return self.queue.receiver().recv


class Multiprocessing:
    def __init__(self):
        import multiprocessing

        self.queue = multiprocessing.get_context("fork").SimpleQueue()

    def writer(self):
        return self.queue.put

    def reader(self):
        return self.queue.get


class Zmq:
    def __init__(self):
        import zmq  # noqa: F401

        self.address = f"ipc:///tmp/queue-{os.getpid()}"

    def writer(self):
        import zmq

        self.socket = zmq.Context().socket(zmq.PUSH)
        self.socket.bind(self.address)
        return self.socket.send

    def reader(self):
        import zmq

        self.socket = zmq.Context().socket(zmq.PULL)
        self.socket.connect(self.address)
        return self.socket.recv


class Vllm:
    """The file of FOREGATHER_VLLM_QUEUE, over stand-ins for what it imports beside the standard library."""

    def __init__(self):
        import importlib.util
        import logging
        import types

        path = os.environ.get("FOREGATHER_VLLM_QUEUE")
        if not path:
            sys.exit("vllm: FOREGATHER_VLLM_QUEUE names no file")

        def module(name, **names):
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__dict__.update(names)
            sys.modules[name].__getattr__ = lambda _: lambda *a, **k: None
            return sys.modules[name]

        class Tensor:
            pass

        distributed = module("torch.distributed", ProcessGroup=Tensor)
        module("torch", Tensor=Tensor, distributed=distributed)
        envs = module("vllm.envs", VLLM_RINGBUFFER_WARNING_INTERVAL=60, VLLM_SLEEP_WHEN_IDLE=False)
        module("vllm", envs=envs)
        module("vllm.distributed")
        module("vllm.distributed.utils", StatelessProcessGroup=Tensor, sched_yield=os.sched_yield)
        module("vllm.logger", init_logger=logging.getLogger)
        module("vllm.platforms", current_platform=None)
        module("vllm.utils")
        module(
            "vllm.utils.network_utils",
            get_ip=lambda: "127.0.0.1",
            get_open_port=lambda: 0,
            get_open_zmq_ipc_path=lambda: f"ipc:///tmp/vllm-{os.getpid()}-{time.monotonic_ns()}",
            is_valid_ipv6_address=lambda _: False,
        )
        spec = importlib.util.spec_from_file_location("shm_broadcast", path)
        file = importlib.util.module_from_spec(spec)
        sys.modules["shm_broadcast"] = file
        spec.loader.exec_module(file)
        self.kind = file.MessageQueue
        self.queue = self.kind(1, 1, max_chunk_bytes=1 << 16, max_chunks=10)
        self.handle = self.queue.export_handle()

    def writer(self):
        self.queue.wait_until_ready()
        return self.queue.enqueue

    def reader(self):
        queue = self.kind.create_from_handle(self.handle, 0)
        queue.wait_until_ready()
        return queue.dequeue


QUEUES = {"foregather-python": Foregather, "multiprocessing": Multiprocessing, "zmq": Zmq, "vllm": Vllm}


def write(put, gaps_ns):
    due = time.monotonic_ns() + 200_000_000
    for gap in gaps_ns:
        due += gap
        left = due - time.monotonic_ns()
        if left > AWAKE_NS:
            time.sleep((left - AWAKE_NS) / 1e9)
        while time.monotonic_ns() < due:
            pass
        put(time.monotonic_ns().to_bytes(8, "little"))


def read(get, count, warm_up):
    late, began = [], None
    for number in range(count):
        if number == warm_up:
            began = time.monotonic_ns(), time.process_time_ns()
        message = get()
        now = time.monotonic_ns()
        if number >= warm_up:
            late.append(now - int.from_bytes(message, "little"))
    return late, time.process_time_ns() - began[1], time.monotonic_ns() - began[0]


def main():
    cell = json.loads(sys.argv[1])
    try:
        queue = QUEUES[cell["queue"]]()
    except ImportError as error:
        sys.exit(f"{cell['queue']}: {error}")
    cpus = sorted(os.sched_getaffinity(0))
    child = os.fork()
    if len(cpus) > 1:
        os.sched_setaffinity(0, {cpus[1 if child == 0 else 0]})
    if child == 0:
        try:
            print(json.dumps(read(queue.reader(), len(cell["gaps_ns"]), cell["warm_up"])), flush=True)
        finally:
            os._exit(0)
    write(queue.writer(), cell["gaps_ns"])
    os.waitpid(child, 0)


main()
