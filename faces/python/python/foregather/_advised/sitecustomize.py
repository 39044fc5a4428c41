"""Starts the line sampler in a program run by `foregather.advise`, then restores the import path.

The interpreter imports this file when it starts, because the folder is the first one of `PYTHONPATH`.
"""

import os
import sys


def _leave() -> None:
    """Removes the folder from the paths, then imports the environment's own sitecustomize, if any."""
    folder = os.path.dirname(os.path.abspath(__file__))
    before = os.environ.pop("FOREGATHER_PYTHONPATH", None)
    os.environ.pop("PYTHONPATH", None)
    if before is not None:
        os.environ["PYTHONPATH"] = before
    sys.path[:] = [path for path in sys.path if path != folder]
    own = sys.modules.pop(__name__)
    try:
        # The environment's own.
        __import__(__name__)
    except ImportError as error:
        if error.name != __name__:
            raise
        sys.modules[__name__] = own


def _look() -> None:
    path = os.environ.pop("FOREGATHER_WATCH_LINES", "")
    __import__("foregather_lines").start(path)
    # This process inherited the command's descriptor with the same number: close it.
    file = int(path.rsplit("/", 1)[1])
    if os.path.samestat(os.stat(path), os.fstat(file)):
        os.close(file)


try:
    _look()
except Exception:
    # The advice then reports that there are no lines.
    pass
_leave()
