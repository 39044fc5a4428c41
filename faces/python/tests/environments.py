"""Environments of their own for tests, with the installed package in them."""

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import foregather

PACKAGE = Path(foregather.__file__).parent

# A loop of OpenMP as GCC compiles it.
LOOP = """
#include <omp.h>
int total(void) {
    int total = 0;
#pragma omp parallel num_threads(3) reduction(+ : total)
    total += omp_get_thread_num() + 1;
    return total;
}
"""

# What a program of the environment prints last: the sum of the loop, and by which libraries.
PROGRAM = """
import ctypes
print(ctypes.CDLL({loop!r}).total(), end=" ")
with open("/proc/self/maps", encoding="utf-8") as maps:
    loaded = {{line.split()[-1] for line in maps if "gomp" in line}}
print(*sorted(path.rpartition("/")[2] for path in loaded if "foregather" in path) or ["none"])
"""


class Environment:
    """A virtual environment that has a copy of the installed package."""

    def __init__(self, folder: Path) -> None:
        if not (PACKAGE / "lib").is_dir():
            pytest.skip("this installation has no libraries")
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
        self.python = folder / "bin" / "python"
        (self.site,) = folder.glob("lib/python3.*/site-packages")
        information = metadata.distribution("foregather")
        shutil.copytree(PACKAGE, self.site / "foregather", ignore=shutil.ignore_patterns("environment", "__pycache__"))
        source = Path(str(information.locate_file("")))
        for each in source.glob("foregather-*.dist-info"):
            shutil.copytree(each, self.site / each.name)
        for record in self.site.glob("foregather-*.dist-info/RECORD"):
            lines = record.read_text().splitlines(keepends=True)
            record.write_text("".join(line for line in lines if "../" not in line and "00_" not in line))

    @property
    def place(self) -> Path:
        return self.site / "foregather" / "lib" / "environment" / "libforegather_gomp.so"

    def run(self, *arguments: str, timeout: float = 60, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Runs this environment's interpreter."""
        environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "FOREGATHER")}
        call = [str(self.python), *arguments]
        return subprocess.run(
            call, env={**environment, **variables}, capture_output=True, text=True, timeout=timeout, check=False
        )

    def said(self, *arguments: str, **variables: str) -> str:
        """What the interpreter prints, which has to succeed and to complain of nothing."""
        ended = self.run(*arguments, **variables)
        assert (ended.returncode, ended.stderr) == (0, ""), ended
        return ended.stdout.strip()

    def files(self) -> "dict[str, bytes]":
        """All files but the interpreter's caches."""
        paths = (path for path in self.site.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {str(path): path.read_bytes() for path in paths}


def compiled(folder: Path, name: str, code: str, *options: str) -> Path:
    """A library of C."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(code)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source), *options], check=True, timeout=60)
    return library
