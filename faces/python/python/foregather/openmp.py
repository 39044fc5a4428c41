"""`python -m foregather.openmp SCRIPT`: scikit-learn, LightGBM and others on this library's OpenMP runtime."""

from ._preload import run

if __name__ == "__main__":
    run("openmp", "libforegather_gomp.so")
