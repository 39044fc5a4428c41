"""Reports why a program's threads wait, and which Python line started the parallel region.

`python -m foregather.advise SCRIPT` runs a program and prints the report. `pytest -p foregather.advise`
prints the same report for a test run.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ._advised import foregather_lines as lines
from ._lab import command

if TYPE_CHECKING:
    import pytest

_HELP = """\
usage: python -m foregather.advise [OPTIONS] SCRIPT [ARGUMENTS], or -m MODULE, or -c CODE, as for python
       python -m foregather.advise --pid PID [--for TIME]
       pytest -p foregather.advise

OPTIONS are those of `foregather advise`: --for TIME, --check, --output FILE, --format table|json, --no-preload, --sample"""
_WITH_VALUES = ("--for", "--output", "--format", "--library", "--pid", "-o", "--runs", "--result")


def _stop(sentence: str) -> NoReturn:
    print(f"foregather.advise: {sentence}", file=sys.stderr)
    sys.exit(2)


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Returns the options of the command, and the program with its arguments."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "-m", "-c"):
        if words[at] == "--":
            return words[:at], words[at + 1 :]
        if words[at].startswith(("-m", "-c")) and not words[at].startswith("--"):
            break
        at += 2 if words[at] in _WITH_VALUES else 1
    return words[:at], words[at:]


def _flags(original: list[str], arguments: int) -> list[str]:
    """Returns the interpreter's own options: those before `-m foregather.advise`."""
    words = original[1 : len(original) - arguments]
    last = words.pop()
    if last == "foregather.advise" and words:
        last = words.pop()
    # `-m` may end a group of letters.
    letters = last.removesuffix("foregather.advise").removesuffix("m")
    return words + ([letters] if letters not in ("", "-") else [])


def _shared_file() -> str:
    """Creates a memfd for line samples. Returns a path by which the user's other processes can open it."""
    file = os.memfd_create("foregather-lines")
    os.ftruncate(file, lines.PARTS * lines.PART_BYTES)
    return f"/proc/{os.getpid()}/fd/{file}"


def _python() -> str:
    """Returns the interpreter as a user would type it."""
    for name in ("python", "python3"):
        for folder in os.get_exec_path():
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK):
                # Only the first match counts; a link may lead to another environment's interpreter.
                if path == sys.executable:
                    return name
                break
    return sys.executable


def _look_in(path: str) -> None:
    """Makes the next interpreter import the line sampler's `sitecustomize`."""
    before = os.environ.get("PYTHONPATH")
    if before is not None:
        os.environ["FOREGATHER_PYTHONPATH"] = before
    folder = os.path.dirname(os.path.abspath(lines.__file__))
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{before}" if before else folder
    os.environ["FOREGATHER_WATCH_LINES"] = path


def _main() -> NoReturn:
    words = sys.argv[1:]
    options, program = _split(words)
    if not words or "-h" in options or "--help" in options:
        print(_HELP)
        sys.exit(0 if words else 2)
    call = [command(), "advise", *options]
    if any(option == "--pid" or option.startswith("--pid=") for option in options):
        os.execv(call[0], call + program)
    if not program:
        _stop("name a script, -m MODULE or -c CODE after the options")
    if program[0] == "-":
        _stop("cannot advise on a program read from standard input; save it to a file")
    path = _shared_file()
    os.set_inheritable(int(path.rsplit("/", 1)[1]), True)
    if not (sys.flags.ignore_environment or sys.flags.no_site):
        _look_in(path)
    flags = _flags(sys.orig_argv, len(words))
    os.execv(call[0], [*call, "--python-lines", path, "--", _python(), *flags, *program])


class _Watched:
    """A pytest run under `foregather advise`."""

    def __init__(self, config: "pytest.Config") -> None:
        self.watcher: subprocess.Popen[bytes] | None = None
        worker = getattr(config, "workerinput", None)
        if worker is not None:
            # This is a pytest-xdist worker; the controller has created the file.
            path = os.environ.get("FOREGATHER_WATCH_LINES", "")
            if Path(path).exists():
                lines.start(path, 1 + int(worker["workerid"].removeprefix("gw")))
            return
        path = _shared_file()
        os.environ["FOREGATHER_WATCH_LINES"] = path
        call = [command(), "advise", "--pid", str(os.getpid()), "--python-lines", path]
        # Ctrl-C is for pytest, which stops the command.
        self.watcher = subprocess.Popen(
            call, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        if not getattr(config.option, "numprocesses", None):
            lines.start(path)

    def end(self) -> str:
        """Stops the command, and returns its report."""
        if self.watcher is None:
            return ""
        watcher, self.watcher = self.watcher, None
        watcher.send_signal(signal.SIGINT)
        try:
            return watcher.communicate(timeout=20)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            watcher.kill()
            watcher.wait()
            return "foregather.advise: `foregather advise` did not exit within 20 s\n"


_watched: _Watched | None = None


def pytest_configure(config: "pytest.Config") -> None:
    """Starts watching."""
    global _watched
    _watched = _Watched(config)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints the report."""
    if _watched is not None and _watched.watcher is not None:
        terminalreporter.section("foregather advise")
        terminalreporter.write(_watched.end())


def pytest_unconfigure() -> None:
    """Stops watching if there was no summary."""
    if _watched is not None:
        _watched.end()


if __name__ == "__main__":
    _main()
