"""`import foregather.threadpools`: from then on `threadpoolctl` sees and limits this library's BLAS and OpenMP runtime.

It needs the package threadpoolctl, 3.5 or newer, and the libraries in the process: by `python -m foregather.blas SCRIPT`
or `python -m foregather.openmp SCRIPT`.
"""

import ctypes

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
    check_symbols = ("omp_get_max_threads",)

    def get_num_threads(self) -> int:
        return int(self.dynlib.omp_get_max_threads())

    def set_num_threads(self, num_threads: int) -> None:
        self.dynlib.omp_set_num_threads(ctypes.c_int(num_threads))

    def get_version(self) -> None:
        """OpenMP has no call that tells it."""


register(BlasController)
register(OpenMPController)
