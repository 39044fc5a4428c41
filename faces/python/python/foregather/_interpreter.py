"""Refuses all interpreters of a process but the main one: the extension's objects are the process's."""

from importlib import import_module


def _is_main() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = import_module(name)
            return bool(interpreters.get_current() == interpreters.get_main())
        except (ImportError, AttributeError):
            continue
    # It has no others.
    return True


if not _is_main():
    raise ImportError("foregather works in the main interpreter of a process alone: use threads or processes there", name="foregather")
