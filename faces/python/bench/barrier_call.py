"""What a barrier call of Python costs beside that of C: blocks of both in turn, in the same processes.

    python barrier_call.py PREFIX [BLOCKS]

PREFIX is where the library for C is installed. Prints nanoseconds a call: medians over blocks, and the median of the
differences between neighbouring blocks. One member alone never waits: it is the price of the call. Two processes have a
processor each.
"""

import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import foregather

CALLS = 2_000
LOOP = """
#include <foregather.h>
int loop(int descriptor, unsigned rank, int calls, fg_shared_member **member) {
    fg_shared_barrier *barrier;
    int code = 0;
    if (!*member && ((code = fg_shared_barrier_attach(descriptor, &barrier)) || (code = fg_shared_barrier_member(barrier, rank, member))))
        return code;
    for (int call = 0; call < calls && !code; call++) code = fg_shared_member_wait(*member, FG_INFINITE);
    return code;
}
"""


def built(prefix: Path) -> ctypes.CDLL:
    """The loop in C."""
    with tempfile.TemporaryDirectory() as folder:
        loop = Path(folder) / "loop.so"
        flags = ["-O2", "-shared", "-fPIC", f"-I{prefix}/include", "-o", str(loop), "-x", "c", "-"]
        link = ["-x", "none", str(prefix / "lib/libforegather.so"), f"-Wl,-rpath,{prefix}/lib"]
        subprocess.run(["cc", *flags, *link], input=LOOP, text=True, check=True)
        return ctypes.CDLL(str(loop))


def blocks(library: ctypes.CDLL, barriers: list[foregather.Barrier], rank: int, count: int) -> list[tuple[float, float, float]]:
    """Nanoseconds a call of Python, of Python with a limit, and of C, block by block."""
    wait = barriers[0].member(rank).wait
    theirs = os.dup(barriers[1].fileno())
    member = ctypes.c_void_p()

    def python() -> None:
        for _ in range(CALLS):
            wait()

    def limited() -> None:
        for _ in range(CALLS):
            wait(60.0)

    def c() -> None:
        code = library.loop(theirs, rank, CALLS, ctypes.byref(member))
        assert code == 0, code

    def timed(run: Callable[[], None]) -> float:
        began = time.perf_counter_ns()
        run()
        return (time.perf_counter_ns() - began) / CALLS

    for run in (python, limited, c):
        run()
    return [(timed(python), timed(limited), timed(c)) for _ in range(count)]


def told(name: str, found: list[tuple[float, float, float]]) -> None:
    python, limited, c = (statistics.median(column) for column in zip(*found))
    above = statistics.median(one[0] - one[2] for one in found)
    limited_above = statistics.median(one[1] - one[2] for one in found)
    print(f"{name}: C {c:.0f}, Python {python:.0f} ({above:+.0f}), Python with a timeout {limited:.0f} ({limited_above:+.0f})", flush=True)


def main() -> None:
    library, count = built(Path(sys.argv[1]).resolve()), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    told("one member", blocks(library, [foregather.Barrier(1), foregather.Barrier(1)], 0, count))
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit("two processes: not measured, since they would share a processor")
    barriers = [foregather.Barrier(2), foregather.Barrier(2)]
    child = os.fork()
    os.sched_setaffinity(0, {cpus[1 if child == 0 else 0]})
    if child == 0:
        try:
            blocks(library, barriers, 1, count)
            os._exit(0)
        finally:
            os._exit(1)
    found = blocks(library, barriers, 0, count)
    assert os.waitpid(child, 0)[1] == 0, "the other process failed"
    told("two processes", found)


main()
