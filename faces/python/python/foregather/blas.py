"""NumPy and others on this library's BLAS.

`python -m foregather.blas SCRIPT` runs one program, `python -m foregather.blas enable` serves all programs of the
environment, until `disable`; `status` says which.
"""

from . import _environment, _preload

if __name__ == "__main__":
    _preload.main(_environment.BLAS)
