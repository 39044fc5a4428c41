"""Runs the simulators through the `foregather` command, and reads results files."""

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._errors import Error


def command() -> str:
    """Returns the path of the `foregather` command: next to this interpreter, or on the PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "foregather"
    found = str(beside) if beside.exists() else shutil.which("foregather")
    if found is None:
        raise Error("the command `foregather` is not installed: install a wheel that has it, or put it on the PATH")
    return found


class Results:
    """A results file: one row per measurement, with labels, a unit and numeric values (figures)."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return self.document.get("measurements") or []

    def labels(self, name: str) -> list[str | None]:
        """Returns the label `name` of every measurement, or `None` where a measurement does not have it."""
        return [row.get("labels", {}).get(name) for row in self._rows]

    def arrays(self) -> dict[str, Any]:
        """Returns NumPy arrays, one per label and per figure, plus the median as `p50`.

        Labels that are numbers in all rows become numbers. A missing figure is NaN.
        """
        import numpy as np

        columns: dict[str, Any] = {}
        for name in sorted({name for row in self._rows for name in row.get("labels", {})}):
            labels = self.labels(name)
            try:
                columns[name] = np.array([float(label) for label in labels if label is not None])
                if len(columns[name]) < len(labels):
                    columns[name] = np.array(labels, dtype=object)
            except ValueError:
                columns[name] = np.array(labels, dtype=object)
        nan = float("nan")
        for name in sorted({name for row in self._rows for name in row.get("figures", {})}):
            columns[name] = np.array([row.get("figures", {}).get(name, nan) for row in self._rows], dtype=float)
        columns["p50"] = np.array([(row.get("summary") or {}).get("p50", nan) for row in self._rows], dtype=float)
        return columns


def results(path: str | os.PathLike[str]) -> Results:
    """Reads a results file that the command has written (`--output`)."""
    document = json.loads(Path(path).read_text())
    if not isinstance(document, dict) or not str(document.get("schema", "")).startswith("foregather.results/"):
        raise ValueError(f"path: {os.fspath(path)} is not a Foregather results file")
    return Results(document)


def _toml(table: Mapping[str, Any]) -> str:
    """Returns a plan as TOML: a dict becomes a table, a list of dicts an array of tables."""

    def value(of: Any) -> str:
        if isinstance(of, bool):
            return "true" if of else "false"
        if isinstance(of, (int, float)):
            return repr(of)
        if isinstance(of, str):
            return json.dumps(of)
        if isinstance(of, (list, tuple)):
            return "[" + ", ".join(value(item) for item in of) + "]"
        if isinstance(of, Mapping):
            return "{ " + ", ".join(f"{json.dumps(str(key))} = {value(item)}" for key, item in of.items()) + " }"
        raise TypeError(f"plan: {of!r} is not a valid plan value; use str, int, float, bool, list or dict")

    return "".join(f"{json.dumps(str(key))} = {value(item)}\n" for key, item in table.items())


def simulate(plan: str | os.PathLike[str] | Mapping[str, Any], *, seed: int = 0, **settings: Any) -> Results:
    """Runs a simulation plan. `plan` is the name of a built-in plan, a path, or a dict.

    `settings` change keys of the plan. Write `__` for a dot in a key: `job__app__threads=8` sets
    `job.app.threads`.
    """
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(plan, Mapping):
            name = os.path.join(folder, "plan.toml")
            Path(name).write_text(_toml({"schema": "foregather.plan/1", **plan}))
        else:
            name = os.fspath(plan)
        call = [command(), "--quiet", "simulate", name, "--yes", "--format", "json", "--seed", str(seed)]
        for key, item in settings.items():
            call += ["--set", f"{key.replace('__', '.')}={item if isinstance(item, str) else json.dumps(item)}"]
        ended = subprocess.run(call, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise Error(ended.stderr.strip() or f"the command exited with code {ended.returncode}")
    return Results(json.loads(ended.stdout))
