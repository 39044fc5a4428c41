"""Packages of the index, unchanged, in an environment that has enabled the OpenMP runtime."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from environments import Environment

GRADIENT_BOOSTING = """
import multiprocessing

def fit():
    from sklearn.datasets import make_classification
    from sklearn.ensemble import HistGradientBoostingClassifier
    data, classes = make_classification(2000, 20, random_state=0)
    print(HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(data, classes).score(data, classes), flush=True)

if __name__ == "__main__":
    fit()
    child = multiprocessing.get_context("spawn").Process(target=fit)
    child.start()
    child.join(60)
"""

PARALLEL_LOOP = """
import os
os.environ["NUMBA_THREADING_LAYER"] = "omp"
import numba
import numpy as np

@numba.njit(parallel=True)
def total(numbers):
    total = 0.0
    for at in numba.prange(numbers.size):
        total += numbers[at]
    return total

print(total(np.arange(1000.0)), numba.threading_layer())
"""

PROGRAMS = {"sklearn": (GRADIENT_BOOSTING, 2), "numba": (PARALLEL_LOOP, 1)}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Environment]":
    yield Environment(tmp_path_factory.mktemp("learners") / "environment")


@pytest.mark.parametrize("package", PROGRAMS)
def test_a_package_computes_the_same_on_the_enabled_runtime(environment: Environment, package: str, tmp_path: Path) -> None:
    source = pytest.importorskip(package).__file__
    code, processes = PROGRAMS[package]
    (environment.site / "outside.pth").write_text(f"{Path(source).parents[1]}\n")
    script = tmp_path / "program.py"
    script.write_text(code)
    statistics = tmp_path / "statistics.jsonl"
    plain = environment.run(str(script), FOREGATHER_STATS=str(statistics))
    assert (plain.returncode, plain.stderr) == (0, ""), plain.stderr
    assert not statistics.exists()
    environment.said("-m", "foregather.openmp", "enable")
    try:
        served = environment.run(str(script), FOREGATHER_STATS=str(statistics))
    finally:
        environment.said("-m", "foregather.openmp", "disable")
    assert served.returncode == 0 and served.stdout == plain.stdout, served
    regions = [json.loads(line)["regions"] for line in statistics.read_text().splitlines()]
    assert len(regions) == processes and min(regions) > 0, served.stderr
