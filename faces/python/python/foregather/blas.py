"""Runs NumPy and others with Foregather's BLAS.

`python -m foregather.blas SCRIPT` runs one program. `python -m foregather.blas enable` does this for all
programs of the environment, until `disable`; `status` reports whether it is enabled.
"""

from . import _environment, _preload

if __name__ == "__main__":
    _preload.main(_environment.BLAS)
