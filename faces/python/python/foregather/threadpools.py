"""Importing this module lets threadpoolctl see and limit Foregather's BLAS and OpenMP runtime.

This needs the package threadpoolctl, 3.5 or newer, and a Foregather library loaded in the process: with
`python -m foregather.blas SCRIPT`, `python -m foregather.blas enable`, or the same commands of
`foregather.openmp`.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from threadpoolctl import LibController, register  # type: ignore[import-untyped]


class BlasController(LibController):  # type: ignore[misc]
    """Controls the BLAS. Limits apply to the whole process, from the next call on.

    A limit above what affinity and quota allow has no effect.
    """

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
    """Controls the OpenMP runtime. Limits apply to the calling thread, as with `omp_set_num_threads`."""

    user_api = "openmp"
    internal_api = "foregather_openmp"
    filename_prefixes = ("libforegather_gomp",)

    def get_num_threads(self) -> int:
        return int(_function(self.dynlib, ctypes.c_int, "omp_get_max_threads")())

    def set_num_threads(self, num_threads: int) -> None:
        _function(self.dynlib, None, "omp_set_num_threads", ctypes.c_int)(num_threads)

    def get_version(self) -> None:
        """Returns `None`, because OpenMP has no function that returns the runtime's version."""


def _function(library: ctypes.CDLL, result: Any, name: str, *arguments: Any) -> Callable[..., Any]:
    """Returns a function by name and symbol version.

    The library that `enable` installs exports no unversioned symbols.
    """
    find = ctypes.CDLL(None).dlvsym
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    address = find(library._handle, name.encode(), b"OMP_1.0")
    if address is None:
        raise AttributeError(f"{library._name}: no function {name} of version OMP_1.0")
    return ctypes.CFUNCTYPE(result, *arguments)(address)


register(BlasController)
register(OpenMPController)
