"""Programs under `python -m foregather.advise`, and test runs under `pytest -p foregather.advise`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from foregather import _advised, _lab
from foregather._advised import foregather_lines
from foregather.advise import _flags, _split

FOLDER = Path(_advised.__file__).parent

pytestmark = pytest.mark.usefixtures("needs_the_command")


def run(*words: object, folder: Path, advised: bool = True, flags: tuple[str, ...] = (), **variables: str) -> "subprocess.CompletedProcess[str]":
    start = [sys.executable, *flags, *(["-m", "foregather.advise"] if advised else [])]
    environment = {**os.environ, **variables}
    return subprocess.run([*start, *map(str, words)], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


def as_a_shell(code: int) -> int:
    return 128 - code if code < 0 else code


WHO = """
import os, sys, threading
paths = [path for path in sys.path if "_advised" in path]
names = [name for name in os.environ if name in ("PYTHONPATH", "FOREGATHER_PYTHONPATH", "FOREGATHER_WATCH_LINES")]
print(__name__, sys.argv, sys.path[0], sorted(globals()), threading.active_count(), paths, names, os.environ.get("PYTHONPATH"))
print(sys.flags, sys.warnoptions, len(os.listdir("/proc/self/fd")))
"""
ENDS = {
    "code": "import sys; print('out'); sys.exit(3)",
    "sentence": "import sys; sys.exit('a sentence')",
    "exception": "def f():\n    raise ValueError('seen')\nf()",
    "os._exit": "import os; os._exit(4)",
    "signal": "import os; os.kill(os.getpid(), 15)",
    "interrupt": "raise KeyboardInterrupt",
    "warning": "import warnings; warnings.warn('seen')",
    "who": WHO,
    "input": "print(input())",
}


@pytest.mark.parametrize("name", ENDS)
def test_output_and_exit_code_are_those_of_the_program(name: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(ENDS[name])
    forms: list[tuple[object, ...]] = [(script, "--one", "-2"), ("-m", "program", "x"), ("-c", ENDS[name])]
    for form in forms:
        plain, advised = (run(*form, folder=tmp_path, advised=advised, PYTHONPATH="") for advised in (False, True))
        assert advised.stdout == plain.stdout, form
        assert advised.stderr.startswith(plain.stderr) or name == "who", (form, advised.stderr)
        assert advised.returncode == as_a_shell(plain.returncode), form
        assert "CAUSE" in advised.stderr, form


def test_options_of_the_interpreter_are_kept(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WHO)
    flags = ("-X", "utf8", "-W", "error", "-bB")
    plain, advised = (run("program.py", folder=tmp_path, flags=flags, advised=advised) for advised in (False, True))
    assert advised.stdout == plain.stdout
    for original, arguments, kept in [
        (["python", "-m", "foregather.advise", "a.py"], 1, []),
        (["python", "-X", "dev", "-Bm", "foregather.advise"], 0, ["-X", "dev", "-B"]),
        (["python", "-mforegather.advise", "-m", "x"], 2, []),
        (["python", "-Imforegather.advise", "x"], 1, ["-I"]),
    ]:
        assert _flags(original, arguments) == kept, original


def test_options_of_the_command_end_at_the_program() -> None:
    assert _split(["--for", "1s", "a.py", "--for"]) == (["--for", "1s"], ["a.py", "--for"])
    assert _split(["--output=x", "-m", "json", "-h"]) == (["--output=x"], ["-m", "json", "-h"])
    assert _split(["--", "--a.py"]) == ([], ["--a.py"])
    assert _split(["--no-preload", "-cpass"]) == (["--no-preload"], ["-cpass"])


def test_the_line_that_takes_the_time_is_named(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text("import time\nend = time.time() + 1\nwhile time.time() < end:\n    sum(range(100000))\n")
    ended = run("--output", "advice.json", "busy.py", folder=tmp_path)
    document = json.loads((tmp_path / "advice.json").read_text())
    assert document["python"]["looks"] >= 3
    assert document["python"]["lines"][0]["place"] == "busy.py:4"
    assert "PYTHON busy.py:4 takes " in ended.stderr
    isolated = run("busy.py", folder=tmp_path, flags=("-E",))
    assert "PYTHON" not in isolated.stderr and "lines of Python" in isolated.stderr, isolated.stderr


REGIONS = """
int run(void) {
    int sum = 0;
    for (int region = 0; region < 3000; region++)
#pragma omp parallel num_threads(2) reduction(+ : sum)
        for (volatile int i = 0; i < 1000000; i++)
            sum += i;
    return sum;
}
"""


def test_the_line_that_opens_regions_is_named_with_its_caller(tmp_path: Path) -> None:
    (tmp_path / "regions.c").write_text(REGIONS)
    build = ["cc", "-fopenmp", "-shared", "-fPIC", "-o", "regions.so", "regions.c"]
    if shutil.which("cc") is None or subprocess.run(build, cwd=tmp_path, capture_output=True).returncode != 0:
        pytest.skip("cc -fopenmp builds no library here")
    package = tmp_path / "site-packages" / "fitter.py"
    package.parent.mkdir()
    package.write_text("import ctypes\nlibrary = ctypes.CDLL('./regions.so')\ndef fit():\n    return library.run()\n")
    (tmp_path / "train.py").write_text("import sys\nsys.path.append('site-packages')\nimport fitter\nfitter.fit()\n")
    ended = run("--output", "advice.json", "train.py", folder=tmp_path)
    first = json.loads((tmp_path / "advice.json").read_text())["python"]["lines"][0]
    assert (first["place"], first["with_region"] > 0) == ("fitter.py:4 <- train.py:4", True), ended.stderr
    assert "PYTHON train.py:4 has parallel regions open" in ended.stderr, ended.stderr


def test_the_sitecustomize_of_the_environment_is_imported(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.own = 5\n")
    (tmp_path / "program.py").write_text("import sys\nprint(own, sys.modules['sitecustomize'].__file__)\n")
    ended = run("program.py", folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert ended.stdout == f"5 {tmp_path / 'sitecustomize.py'}\n", ended.stderr


def test_what_has_no_name_is_refused(tmp_path: Path) -> None:
    for words, sentence in [(("-",), "from standard input"), ((), "usage"), (("--no-preload",), "name a script")]:
        ended = run(*words, folder=tmp_path)
        assert ended.returncode == 2 and sentence in ended.stderr + ended.stdout, words


def test_a_running_program_is_watched(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        ended = run("--pid", sleeper.pid, "--for", "300ms", folder=tmp_path)
        sleeper.kill()
    assert ended.returncode == 0 and "nothing to fix" in ended.stderr


def test_the_thread_ends_before_a_fork() -> None:
    file = os.memfd_create("lines")
    os.ftruncate(file, foregather_lines.PARTS * foregather_lines.PART_BYTES)
    count = len(os.listdir("/proc/self/task"))
    looker = foregather_lines.start(f"/proc/self/fd/{file}", 3)
    while looker.looks < 5:
        sum(range(1000))
    looker.end()
    assert len(os.listdir("/proc/self/task")) == count
    written = os.pread(file, 100, 3 * foregather_lines.PART_BYTES)
    assert written.split(b"\n")[0].isdigit() and b"test_advise.py:" in written


FORKS = """
import os, sys
for _ in range(2):
    child = os.fork()
    if child == 0:
        os._exit(6)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_is_one_of_a_process_with_one_thread(tmp_path: Path) -> None:
    # From Python 3.12 on there is a warning otherwise.
    (tmp_path / "forks.py").write_text(FORKS)
    ended = run("forks.py", folder=tmp_path, flags=("-W", "error"))
    assert (ended.returncode, ended.stdout, "Warning" in ended.stderr) == (0, "6\n6\n", False), ended.stderr


TESTS = """
import time
def test_busy():
    end = time.time() + 1
    while time.time() < end:
        sum(range(100000))
def test_wrong():
    assert False
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_test_run_ends_with_the_screen(workers: tuple[str, ...], tmp_path: Path) -> None:
    if workers:
        pytest.importorskip("xdist")
    (tmp_path / "test_it.py").write_text(TESTS)
    call = [sys.executable, "-m", "pytest", "-p", "foregather.advise", "-p", "no:cacheprovider", *workers, "test_it.py"]
    ended = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and "1 failed, 1 passed" in ended.stdout, ended.stdout + ended.stderr
    screen = ended.stdout.split("foregather advise", 1)[1]
    assert "CAUSE" in screen and "no preload library" in screen and "PYTHON test_it.py:6" in screen, screen
