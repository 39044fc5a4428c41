from spack.package import *


class Foregather(Package):
    """Makes parallel programs wait well: barriers, teams, queues, an OpenMP runtime and a BLAS."""

    license("MIT OR Apache-2.0")
    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("binutils", type="build")
    provides("blas")

    def install(self, spec, prefix):
        cargo = which("cargo")
        cargo("xtask", "install", "--prefix", prefix)

    @property
    def blas_libs(self):
        return LibraryList([join_path(self.prefix.lib.foregather, "libforegather_blas.so")])
