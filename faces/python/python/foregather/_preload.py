"""Starts a Python program anew with a library of the wheel before its own."""

import os
import sys
from pathlib import Path
from typing import NoReturn

LIBRARIES = Path(__file__).parent / "lib"


def run(module: str, library: str) -> NoReturn:
    """Becomes this interpreter with the library preloaded, and the arguments of this program."""
    arguments = sys.argv[1:]
    place = LIBRARIES / library
    if not arguments:
        sys.exit(f"usage: python -m foregather.{module} SCRIPT [ARGUMENTS], or -m MODULE, or -c CODE, as python has them")
    if not place.exists():
        sys.exit(f"foregather.{module}: this installation has no {library}: install a wheel that has it (`cargo xtask wheel` builds one)")
    before = os.environ.get("LD_PRELOAD", "")
    os.environ["LD_PRELOAD"] = f"{place}:{before}" if before else str(place)
    os.execv(sys.executable, [sys.executable, *arguments])
