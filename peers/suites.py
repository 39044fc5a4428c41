#!/usr/bin/env python3
"""Runs the tests that Python packages ship, with their own libraries and with those of this one, and makes the table of the book.

    peers/suites.py prepare WHEEL       installs the packages of suites.toml and this wheel, in target/suites
    peers/suites.py run [SUITE [ARM]]   a turn of a suite, or of the one that has the fewest, and records it in the file of results
    peers/suites.py table               prints the table of all recorded turns

Arms take turns, in the opposite order every second time. A test that fails in the arm `foregather` alone is an error.
FOREGATHER_PYTHON names another interpreter that has the packages, FOREGATHER_SUITES another file of results.
"""

import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "target" / "suites"
PYTHON = Path(os.environ.get("FOREGATHER_PYTHON", PLACE / "venv" / "bin" / "python"))
RESULTS = Path(os.environ.get("FOREGATHER_SUITES", ROOT / "docs" / "python" / "suites.json"))
PLAIN, OURS, SINGLE = "as it comes", "foregather", "one thread"
# They would change what an arm is.
PREFIXES = ("OPENBLAS_", "OMP_", "GOMP_", "MKL_", "NUMBA_", "FOREGATHER", "PYTEST_", "PYTHON")
LIMIT_S = 600
PR_SET_CHILD_SUBREAPER = 36


def suites() -> dict:
    with (Path(__file__).with_suffix(".toml")).open("rb") as file:
        return tomllib.load(file)


def arms(suite: dict) -> list[str]:
    return [PLAIN, OURS] + ([SINGLE] if "single" in suite else [])


def recorded() -> list[dict]:
    return json.loads(RESULTS.read_text())["turns"] if RESULTS.exists() else []


def prepare(wheel: str) -> None:
    subprocess.run([sys.executable, "-m", "venv", PYTHON.parent.parent], check=True)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *suites()["packages"]], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wheel], check=True)


def next_turn(turns: list[dict], name: str | None, arm: str | None) -> tuple[dict, str]:
    """Returns the suite with the fewest turns, and the arm whose turn it is."""
    chosen = [suite for suite in suites()["suite"] if name in (None, suite["name"])]
    if not chosen:
        sys.exit(f"no suite {name}; suites.toml has {', '.join(suite['name'] for suite in suites()['suite'])}")
    suite = min(chosen, key=lambda suite: sum(turn["suite"] == suite["name"] for turn in turns) / len(arms(suite)))
    if arm is not None:
        return suite, arm
    count = [sum((turn["suite"], turn["arm"]) == (suite["name"], arm) for turn in turns) for arm in arms(suite)]
    order = list(zip(count, arms(suite)))
    # A round is begun in the opposite direction of the one before.
    return suite, min(order if min(count) % 2 == 0 else order[::-1], key=lambda pair: pair[0])[1]


def environment(suite: dict, arm: str) -> dict[str, str]:
    """Prepares the Python environment for an arm, and returns the variables for it."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(PREFIXES)}
    for library in ("openmp", "blas"):
        verb = "enable" if arm == OURS and library in suite["libraries"] else "disable"
        subprocess.run([PYTHON, "-P", "-m", f"foregather.{library}", verb], env=variables, stdout=subprocess.DEVNULL, check=True)
    return variables | ({suite["single"]: "1"} if arm == SINGLE else {})


def run(name: str | None = None, arm: str | None = None) -> None:
    turns = recorded()
    suite, arm = next_turn(turns, name, arm)
    variables = environment(suite, arm)
    PLACE.mkdir(parents=True, exist_ok=True)
    report = PLACE / "report.xml"
    report.unlink(missing_ok=True)
    workers = ["-n", str(suite["workers"])] if "workers" in suite else []
    call = [PYTHON, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *workers, "--pyargs", *suite["tests"]]
    # Whatever a test leaves behind is waited for, and counted.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    used, since = processor_s(), time.monotonic()
    with (PLACE / "log.txt").open("w") as log:
        code = subprocess.run(call, cwd=PLACE, env=variables, stdout=log, stderr=log, timeout=LIMIT_S).returncode
        wall = time.monotonic() - since
        while children():
            os.wait()
    if not report.exists():
        sys.exit(f"{suite['name']}, {arm}: pytest exited with {code} and no report: see {log.name}")
    turn = {"suite": suite["name"], "arm": arm, "wall_s": round(wall, 2), "processor_s": round(processor_s() - used, 2), **outcome(report)}
    print(json.dumps(turn))
    versions = installed()
    text = ",\n".join(json.dumps(turn) for turn in [*turns, turn])
    RESULTS.write_text(f'{{"packages": {json.dumps(versions)},\n"turns": [\n{text}\n]}}\n')
    if arm == OURS and (alone := only_ours([*turns, turn], suite["name"])):
        sys.exit(f"{suite['name']}: fails with foregather alone: {', '.join(alone)}")


def processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def children() -> bool:
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def outcome(report: Path) -> dict:
    """Counts the tests of a report of pytest, and names those that failed."""
    failed, skipped, passed = [], 0, 0
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(f"{case.get('classname')}.{case.get('name')}")
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return {"passed": passed, "skipped": skipped, "failed": sorted(failed)}


def only_ours(turns: list[dict], suite: str) -> list[str]:
    failed = {arm: {name for turn in turns if (turn["suite"], turn["arm"]) == (suite, arm) for name in turn["failed"]} for arm in (PLAIN, OURS)}
    return sorted(failed[OURS] - failed[PLAIN])


def installed() -> dict[str, str]:
    call = [PYTHON, "-P", "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
    have = json.loads(subprocess.run(call, capture_output=True, check=True).stdout)
    return {package["name"]: package["version"] for package in have if package["name"] in suites()["packages"]}


def table() -> None:
    turns = recorded()
    print("| suite | configuration | runs | passed | failed | wall time, s | CPU time, s |\n|---|---|---|---|---|---|---|")
    for suite in suites()["suite"]:
        for arm in arms(suite):
            own = [turn for turn in turns if (turn["suite"], turn["arm"]) == (suite["name"], arm)]
            if own:
                numbers = [span([turn[key] for turn in own]) for key in ("wall_s", "processor_s")]
                counts = [either([turn["passed"] for turn in own]), either([len(turn["failed"]) for turn in own])]
                print("|", " | ".join([suite["name"], arm, str(len(own)), *counts, *numbers]), "|")


def either(counts: list[int]) -> str:
    return str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"


def span(numbers: list[float]) -> str:
    """Returns the median and the range."""
    return f"{statistics.median(numbers):.1f} ({min(numbers):.1f} to {max(numbers):.1f})"


if __name__ == "__main__":
    verbs = {"prepare": prepare, "run": run, "table": table}
    if len(sys.argv) < 2 or sys.argv[1] not in verbs:
        sys.exit(__doc__)
    verbs[sys.argv[1]](*sys.argv[2:])
