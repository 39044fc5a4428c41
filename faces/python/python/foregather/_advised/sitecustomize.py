"""Looks at the lines of a program that `foregather.advise` started, and leaves its interpreter as it was.

The interpreter imports this file when it starts, because the folder is the first one of `PYTHONPATH`.
"""

import os
import sys


def _leave() -> None:
    """Takes the folder off the paths, and imports the file of this name that the interpreter has without it."""
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
    # The command has left its descriptor of the same number open.
    file = int(path.rsplit("/", 1)[1])
    if os.path.samestat(os.stat(path), os.fstat(file)):
        os.close(file)


try:
    _look()
except Exception:
    # The advice then says that there are no lines.
    pass
_leave()
