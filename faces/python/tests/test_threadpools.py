"""threadpoolctl sees and limits the libraries of the wheel."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import foregather

pytest.importorskip("threadpoolctl")

LIBRARIES = Path(foregather.__file__).parent / "lib"

INFO = """
import ctypes, json, threadpoolctl
before = [pool for pool in threadpoolctl.threadpool_info() if "foregather" in pool["filepath"]]
import foregather.threadpools
def pools():
    return [pool for pool in threadpoolctl.threadpool_info() if pool["internal_api"].startswith("foregather")]
def asked(limits, user_api):
    with threadpoolctl.threadpool_limits(limits=limits, user_api=user_api):
        return [pool["num_threads"] for pool in pools()]
"""


def run(module: str, code: str, **environment: str) -> object:
    """What the code prints last, as JSON, on a library of the wheel."""
    if not LIBRARIES.is_dir():
        pytest.skip("this installation has no libraries")
    variables = {**os.environ, **environment}
    call = [sys.executable, "-m", f"foregather.{module}", "-c", INFO + code]
    ended = subprocess.run(call, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_the_blas_is_seen_and_limited() -> None:
    code = """
found = pools()
print(json.dumps([before, found, asked(1, "blas"), asked(2, "blas"), asked(1, "openmp"), pools() == found]))
"""
    before, found, one, two, other, restored = run("blas", code)  # type: ignore[misc]
    assert before == [] and len(found) == 1
    pool, cpus = found[0], len(os.sched_getaffinity(0))
    assert (pool["user_api"], pool["prefix"]) == ("blas", "libforegather_blas")
    assert pool["version"].count(".") == 2
    assert one == [1] and two == [min(2, cpus)] and other == [pool["num_threads"]] and restored


def test_a_limited_blas_uses_one_thread() -> None:
    code = """
import os
blas = ctypes.CDLL(None)
n = 800
one, result = (ctypes.c_double * (n * n))(*[1.0] * (n * n)), (ctypes.c_double * (n * n))()
def threads_of_a_product():
    blas.cblas_dgemm(101, 111, 111, n, n, n, ctypes.c_double(1), one, n, one, n, ctypes.c_double(0), result, n)
    return len(os.listdir("/proc/self/task"))
begun = len(os.listdir("/proc/self/task"))
with threadpoolctl.threadpool_limits(limits=1, user_api="blas"):
    alone = threads_of_a_product() - begun
together = max(threads_of_a_product() for _ in range(20)) - begun
print(json.dumps([alone, together, result[n * n - 1]]))
"""
    alone, together, last = run("blas", code)  # type: ignore[misc]
    assert alone == 0 and last == 800
    assert (together > 0) == (len(os.sched_getaffinity(0)) > 1)


def test_the_openmp_runtime_is_seen_and_limited() -> None:
    code = """
found = pools()
print(json.dumps([before, found, asked(2, "openmp"), asked(1, "blas"), pools() == found]))
"""
    before, found, two, other, restored = run("openmp", code, OMP_NUM_THREADS="3")  # type: ignore[misc]
    assert before == [] and len(found) == 1
    assert (found[0]["user_api"], found[0]["num_threads"]) == ("openmp", 3)
    assert two == [2] and other == [3] and restored
