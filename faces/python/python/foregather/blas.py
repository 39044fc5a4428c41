"""`python -m foregather.blas SCRIPT`: NumPy and others on this library's BLAS."""

from ._preload import run

if __name__ == "__main__":
    run("blas", "libforegather_blas.so")
