"""Libraries that were built for another OpenMP runtime keep it, whatever an environment has enabled."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from environments import PACKAGE, Environment, compiled

# A runtime for another compiler, in small: regions by its own calls, and OpenMP's functions without versions.
RUNTIME = """
#include <pthread.h>
static _Thread_local int number;
struct part { void (*body)(int *); int *seen; int number; };
static void *work(void *given) {
    struct part *part = given;
    number = part->number;
    part->body(part->seen);
    return 0;
}
int omp_get_thread_num(void) { return number; }
void __kmpc_small_fork_call(void (*body)(int *), int *seen, int count) {
    pthread_t threads[8];
    struct part parts[8];
    for (int at = 1; at < count; at++) {
        parts[at] = (struct part){body, seen, at};
        pthread_create(&threads[at], 0, work, &parts[at]);
    }
    body(seen);
    for (int at = 1; at < count; at++) pthread_join(threads[at], 0);
}
"""

# A library of that compiler. It names no version, as MKL's do, and takes its runtime from the program that loads it.
BUILT_FOR_IT = """
int omp_get_thread_num(void);
void __kmpc_small_fork_call(void (*body)(int *), int *seen, int count);
static void body(int *seen) { __atomic_fetch_add(&seen[omp_get_thread_num()], 1, __ATOMIC_RELAXED); }
void count(int *seen) { __kmpc_small_fork_call(body, seen, 4); }
"""

# What clang makes of a parallel region.
BUILT_BY_CLANG = """
typedef struct { int reserved, flags, more, length; const char *place; } ident;
int omp_get_thread_num(void);
void omp_set_num_threads(int);
void __kmpc_fork_call(ident *, int, void (*)(int *, int *, ...), ...);
static void body(int *global, int *bound, int *seen) { __atomic_fetch_add(&seen[omp_get_thread_num()], 1, __ATOMIC_RELAXED); }
void count(int *seen) {
    static ident here = {0, 2, 0, 0, ";unknown;unknown;0;0;;"};
    omp_set_num_threads(4);
    __kmpc_fork_call(&here, 1, (void (*)(int *, int *, ...))body, seen);
}
"""

PROGRAM = """
import ctypes, json, sys
if sys.argv[1]:
    ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
seen = (ctypes.c_int * 4)()
ctypes.CDLL(sys.argv[2]).count(seen)
print(json.dumps(list(seen)))
"""

EACH_ONCE = [1, 1, 1, 1]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Environment]":
    environment = Environment(tmp_path_factory.mktemp("second") / "environment")
    environment.said("-m", "foregather.openmp", "enable")
    yield environment


def seen(environment: Environment, runtime: str, library: Path, **variables: str) -> object:
    return json.loads(environment.said("-c", PROGRAM, runtime, str(library), **variables))


def test_a_library_without_versions_keeps_its_runtime(environment: Environment, tmp_path: Path) -> None:
    runtime = compiled(tmp_path, "libiomp5-small", RUNTIME, "-pthread")
    library = compiled(tmp_path, "built", BUILT_FOR_IT)
    assert seen(environment, str(runtime), library) == EACH_ONCE
    # The library as the wheel has it would answer for the other runtime.
    before = str(PACKAGE / "lib" / "libforegather_gomp.so")
    script = PROGRAM.replace("if sys.argv[1]:", f"ctypes.CDLL({before!r}, ctypes.RTLD_GLOBAL)\nif sys.argv[1]:")
    wrong = environment.said("-c", script, str(runtime), str(library), FOREGATHER="off")
    assert json.loads(wrong) == [4, 0, 0, 0]


def test_a_library_of_clang_keeps_its_runtime(environment: Environment, tmp_path: Path) -> None:
    found = sorted(Path("/usr/lib").glob("*/libomp.so.5")) + sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so.5"))
    if not found:
        pytest.skip("no libomp")
    library = compiled(tmp_path, "clang", BUILT_BY_CLANG, str(found[0]), f"-Wl,-rpath,{found[0].parent}")
    assert seen(environment, "", library) == EACH_ONCE
    bare = compiled(tmp_path, "bare", BUILT_BY_CLANG)
    assert seen(environment, str(found[0]), bare) == EACH_ONCE


def test_another_runtime_is_mentioned(environment: Environment) -> None:
    other = environment.site / "package" / "libs" / "libiomp5.so"
    other.parent.mkdir(parents=True)
    other.touch()
    said = environment.said("-m", "foregather.openmp", "status").splitlines()
    assert said[1:] == [
        f"openmp: {other}: another OpenMP runtime of this environment; packages that were built for it keep it"
    ]
