"""Runs scikit-learn, LightGBM and others with Foregather's OpenMP runtime.

`python -m foregather.openmp SCRIPT` runs one program. `python -m foregather.openmp enable` does this for all
programs of the environment, until `disable`; `status` reports whether it is enabled.
"""

from . import _environment, _preload

if __name__ == "__main__":
    _preload.main(_environment.OPENMP)
