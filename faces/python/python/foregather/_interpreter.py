"""Raises `ImportError` in subinterpreters, because the extension's objects belong to the whole process."""

from importlib import import_module


def _is_main() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = import_module(name)
            return bool(interpreters.get_current() == interpreters.get_main())
        except (ImportError, AttributeError):
            continue
    # This Python has no subinterpreters.
    return True


if not _is_main():
    raise ImportError(
        "foregather works in the main interpreter only; use threads or processes instead of subinterpreters", name="foregather"
    )
