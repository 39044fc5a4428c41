"""Implements `python -m foregather.openmp` and `python -m foregather.blas`."""

import os
import sys
from typing import NoReturn

from . import _environment

_VERBS = {"enable": _environment.enable, "disable": _environment.disable, "status": _environment.status}


def main(library: _environment.Library) -> None:
    """Runs a program with the library, or enables it for this environment."""
    arguments, module = sys.argv[1:], library.module
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.exit(
            f"usage: python -m foregather.{module} SCRIPT [ARGUMENTS], or -m MODULE, or -c CODE, as for python\n"
            f"       python -m foregather.{module} enable | disable | status, for all programs of this environment"
        )
    verb = _VERBS.get(arguments[0])
    if verb is None:
        _run(library, arguments)
    if len(arguments) > 1:
        library.stop(f"unexpected argument {arguments[1]!r}: {arguments[0]} takes none; a script of that name is ./{arguments[0]}")
    verb(library)


def _run(library: _environment.Library, arguments: list[str]) -> NoReturn:
    """Replaces this process with the interpreter, with the library in LD_PRELOAD."""
    place = str(library.require())
    before = os.environ.get("LD_PRELOAD", "")
    os.environ["LD_PRELOAD"] = f"{place}:{before}" if before else place
    os.execv(sys.executable, [sys.executable, *arguments])
