"""Runs the words in DOCTOR in each worker of pytest-xdist, for `.ci/launchers`: what they print is kept in SHARES.WORKER."""
import os
import subprocess


def test_share(worker_id):
    with open(f"{os.environ['SHARES']}.{worker_id}", "w") as printed:
        subprocess.run(os.environ["DOCTOR"].split(), stdout=printed, check=True)
