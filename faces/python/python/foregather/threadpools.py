"""`import foregather.threadpools`: from then on `threadpoolctl` sees and limits this library's BLAS and OpenMP runtime.

It needs the package threadpoolctl, 3.5 or newer, and the libraries in the process: by `python -m foregather.blas SCRIPT`
or `enable`, or the same of `foregather.openmp`.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from threadpoolctl import LibController, register  # type: ignore[import-untyped]


class BlasController(LibController):  # type: ignore[misc]
    """Limits hold for the process, from the next call on; no more threads than affinity and quota allow."""

    user_api = "blas"
    internal_api = "foregather_blas"
    filename_prefixes = ("libforegather_blas",)
    check_symbols = ("foregather_blas_set_num_threads",)

    def get_num_threads(self) -> int:
        return int(self.dynlib.foregather_blas_get_num_threads())

    def set_num_threads(self, num_threads: int) -> None:
        self.dynlib.foregather_blas_set_num_threads(ctypes.c_int(num_threads))

    def get_version(self) -> str | None:
        version = getattr(self.dynlib, "foregather_blas_version", None)
        if version is None:
            return None
        version.restype = ctypes.c_char_p
        return bytes(version()).decode()


class OpenMPController(LibController):  # type: ignore[misc]
    """Limits hold for the calling thread, as `omp_set_num_threads` has it."""

    user_api = "openmp"
    internal_api = "foregather_openmp"
    filename_prefixes = ("libforegather_gomp",)

    def get_num_threads(self) -> int:
        return int(_function(self.dynlib, ctypes.c_int, "omp_get_max_threads")())

    def set_num_threads(self, num_threads: int) -> None:
        _function(self.dynlib, None, "omp_set_num_threads", ctypes.c_int)(num_threads)

    def get_version(self) -> None:
        """OpenMP has no call that tells it."""


def _function(library: ctypes.CDLL, result: Any, name: str, *arguments: Any) -> Callable[..., Any]:
    """A function by its name and version: the library of an environment has none for the name alone."""
    find = ctypes.CDLL(None).dlvsym
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    address = find(library._handle, name.encode(), b"OMP_1.0")
    if address is None:
        raise AttributeError(f"{library._name}: no function {name} of version OMP_1.0")
    return ctypes.CFUNCTYPE(result, *arguments)(address)


register(BlasController)
register(OpenMPController)
