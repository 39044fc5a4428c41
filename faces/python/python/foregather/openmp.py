"""scikit-learn, LightGBM and others on this library's OpenMP runtime.

`python -m foregather.openmp SCRIPT` runs one program, `python -m foregather.openmp enable` serves all programs of the
environment, until `disable`; `status` says which.
"""

from . import _environment, _preload

if __name__ == "__main__":
    _preload.main(_environment.OPENMP)
