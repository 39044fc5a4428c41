"""A sampling thread that records which Python lines run, and which of them have a parallel region open.

It writes the number of samples, and a line for each place, to its part of a file that it shares with the
command.
"""

import ctypes
import mmap
import os
import sys
from _thread import LockType, allocate_lock, get_ident, get_native_id, start_new_thread
from signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask, valid_signals
from time import clock_gettime, monotonic, pthread_getcpuclockid, sleep, thread_time
from types import FrameType

# The file has a part for each interpreter that writes to it.
PARTS = 32
PART_BYTES = 8192

_APART_S = 0.01
# The share of one processor that sampling may use.
_BUDGET = 0.005
# A thread that ran for less than this share of the time counts as waiting.
_RUNS = 0.1
_PLACES = 4096
_PLACES_WRITTEN = 16
# From this version on, Python warns of a fork in a process with more than one thread.
_ENDS_AT_FORK = sys.version_info >= (3, 12)

_LIBRARY = os.path.dirname(os.__file__) + os.sep


class _Looker:
    def __init__(self, place: int) -> None:
        # The address of its part of the file, which stays mapped until the process exits.
        self.memory = place
        self.main, self.main_thread = get_ident(), os.getpid()
        # A function of the preload library, or `None` if that is not loaded. PyDLL keeps the GIL in calls.
        self.has_region = getattr(ctypes.PyDLL(None), "foregather_watch_has_open_region", None)
        self.clock = pthread_getcpuclockid(self.main)
        self.looked, self.ran = monotonic(), clock_gettime(self.clock)
        self.looks = 0
        self.places: dict[str, list[int]] = {}
        self.names: dict[str, tuple[str, bool]] = {}
        self.thread = 0
        self.ends = False
        self.ended: LockType = allocate_lock()

    def run(self) -> None:
        self.thread = get_native_id()
        written = 0
        try:
            while not self.ends:
                before = thread_time()
                self.look()
                if self.looks >= written * 1.1:
                    self.write()
                    written = self.looks
                sleep(max(_APART_S, (thread_time() - before) / _BUDGET))
        except Exception:
            pass
        self.ended.release()

    def end(self) -> None:
        """Ends the thread before a fork. Waits up to about 0.1 s for the kernel thread to exit."""
        if self.ends:
            return
        self.ends = True
        self.ended.acquire()
        task = f"/proc/self/task/{self.thread}"
        for _ in range(100):
            if not os.path.exists(task):
                break
            sleep(0.001)

    def look(self) -> None:
        self.looks += 1
        own, is_running = get_ident(), self.is_running()
        seen = set()
        for ident, frame in sys._current_frames().items():
            if ident == own:
                continue
            is_open = self.is_open(ident)
            if is_open or (ident == self.main and is_running):
                seen.add((self.place(frame), is_open))
        for place, is_open in seen:
            counts = self.places.get(place)
            if counts is None:
                if len(self.places) == _PLACES:
                    continue
                counts = self.places[place] = [0, 0]
            counts[0] += is_open
            counts[1] += 1

    def is_running(self) -> bool:
        """Returns whether the main thread has run since the last sample."""
        now, ran = monotonic(), clock_gettime(self.clock)
        is_running = ran - self.ran >= (now - self.looked) * _RUNS
        self.looked, self.ran = now, ran
        return is_running

    def is_open(self, ident: int) -> bool:
        if self.has_region is None:
            return False
        thread: int | None = self.main_thread
        if ident != self.main:
            # The program's own `threading`, if it has imported that.
            active = getattr(sys.modules.get("threading"), "_active", {})
            thread = getattr(active.get(ident), "native_id", None)
        return thread is not None and self.has_region(thread) != 0

    def place(self, frame: FrameType) -> str:
        """Returns the line, and the line of the user's own code that called it, if that differs."""
        inner = self.line(frame)
        caller: FrameType | None = frame
        while caller is not None:
            if not self.name(caller)[1]:
                return inner if caller is frame else f"{inner} <- {self.line(caller)}"
            caller = caller.f_back
        return inner

    def line(self, frame: FrameType) -> str:
        return f"{self.name(frame)[0]}:{frame.f_lineno or 0}"

    def name(self, frame: FrameType) -> tuple[str, bool]:
        """Returns a short name of a frame's file, and whether the file belongs to a library."""
        path = frame.f_code.co_filename
        known = self.names.get(path)
        if known is None:
            known = self.names[path] = _short(path)
        return known

    def write(self) -> None:
        places = sorted(self.places.items(), key=lambda item: item[1], reverse=True)
        # Those with regions first, then the most frequent ones.
        chosen = places[: _PLACES_WRITTEN // 2] + sorted(places[_PLACES_WRITTEN // 2 :], key=lambda item: -item[1][1])
        lines = [f"{self.looks}", *(f"{regions}\t{looks}\t{place}" for place, (regions, looks) in chosen[:_PLACES_WRITTEN])]
        text = "\n".join(lines).encode(errors="replace")[: PART_BYTES - 1] + b"\0"
        ctypes.memmove(self.memory, text, len(text))


def _short(path: str) -> tuple[str, bool]:
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in path:
            return path.rsplit(folder, 1)[1], True
    if path.startswith(_LIBRARY):
        return path[len(_LIBRARY) :], True
    if path.startswith("<"):
        return path, path.startswith("<frozen ")
    here = os.getcwd() + os.sep
    return (path[len(here) :] if path.startswith(here) else os.path.basename(path)), False


def _map(path: str) -> int:
    """Maps the file. A Python `mmap` object would keep a descriptor, which the program might close."""
    function = ctypes.PyDLL(None, use_errno=True).mmap
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        place: int = function(None, PARTS * PART_BYTES, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, file, 0)
    finally:
        os.close(file)
    if place == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "cannot map the file of line samples", path)
    return place


def start(path: str, part: int = 0) -> _Looker:
    """Starts the thread. `threading.enumerate` does not list it."""
    looker = _Looker(_map(path) + part % PARTS * PART_BYTES)
    looker.ended.acquire()
    if _ENDS_AT_FORK:
        os.register_at_fork(before=looker.end)
    # Signals are for the program's threads.
    before = pthread_sigmask(SIG_BLOCK, valid_signals())
    try:
        start_new_thread(looker.run, ())
    finally:
        pthread_sigmask(SIG_SETMASK, before)
    return looker
