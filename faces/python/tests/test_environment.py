"""A library for all programs of an environment, and what must not break its interpreter."""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from environments import LOOP, PROGRAM, Environment, compiled

OURS, NONE = "6 libforegather_gomp.so", "6 none"


@pytest.fixture(scope="module")
def folder() -> "Iterator[Path]":
    # Other users can read it, unlike pytest's own folders.
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def made(folder: Path) -> Environment:
    return Environment(folder / "environment")


@pytest.fixture
def environment(made: Environment) -> "Iterator[Environment]":
    yield made
    made.said("-m", "foregather.openmp", "disable")


@pytest.fixture(scope="module")
def program(folder: Path) -> str:
    return PROGRAM.format(loop=str(compiled(folder, "loop", LOOP, "-fopenmp")))


def enabled(environment: Environment) -> Environment:
    assert "openmp: enabled for " in environment.said("-m", "foregather.openmp", "enable")
    return environment


def test_all_programs_are_served_until_it_is_disabled(environment: Environment, program: str) -> None:
    before = environment.files()
    assert environment.said("-c", program) == NONE
    enabled(environment)
    for options in ([], ["-I"], ["-E"], ["-X", "warn_default_encoding", "-W", "error"]):
        assert environment.said(*options, "-c", program) == OURS
    assert environment.said("-m", "foregather.openmp", "status").startswith("openmp: enabled, and loaded by new")
    assert environment.said("-S", "-c", program) == NONE
    assert environment.said("-c", program, FOREGATHER="off") == NONE
    assert "disabled" in environment.said("-m", "foregather.openmp", "disable")
    assert environment.said("-c", program) == NONE
    assert environment.files() == before
    assert "was not enabled" in environment.said("-m", "foregather.openmp", "disable")


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_children_are_served(environment: Environment, program: str, way: str, tmp_path: Path) -> None:
    script = tmp_path / "children.py"
    script.write_text(
        f"import multiprocessing\nprogram = {program!r}\ndef work():\n    exec(program)\n"
        f"if __name__ == '__main__':\n    work()\n    context = multiprocessing.get_context({way!r})\n"
        "    for _ in range(2):\n        child = context.Process(target=work)\n        child.start()\n        child.join(30)\n"
    )
    assert enabled(environment).said(str(script)).splitlines() == [OURS] * 3


def test_a_preloaded_library_is_the_only_one(environment: Environment, program: str) -> None:
    assert enabled(environment).said("-m", "foregather.openmp", "-c", program) == OURS


def test_a_second_installation_loads_nothing_more(environment: Environment, program: str) -> None:
    enabled(environment)
    line, other = environment.site / "00_foregather_openmp.pth", environment.site / "01_other.pth"
    folder = environment.folder / "other"
    try:
        shutil.copytree(environment.place.parent, folder)
        other.write_text(line.read_text().replace(str(environment.place.parent), str(folder)))
        assert environment.said("-c", program) == OURS
        line.unlink()
        assert environment.said("-c", program) == OURS, "the other one serves alone"
    finally:
        other.unlink()
        shutil.rmtree(folder)


def patched(change: "Callable[[bytearray], None]") -> "Callable[[Path], None]":
    def patch(place: Path) -> None:
        image = bytearray(place.read_bytes())
        change(image)
        place.unlink()
        place.write_bytes(image)

    return patch


def foreign(image: bytearray) -> None:
    (machine,) = struct.unpack_from("<H", image, 18)
    struct.pack_into("<H", image, 18, 183 if machine == 62 else 62)


def newer(image: bytearray) -> None:
    name = b"\0GLIBC_2.34\0"
    image[image.index(name) : image.index(name) + len(name)] = b"\0GLIBC_9.34\0"


def cut(image: bytearray) -> None:
    del image[len(image) // 2 :]


def garbled(image: bytearray) -> None:
    image[:] = os.urandom(64) * (len(image) // 64 + 1)
    del image[len(image) // 64 * 64 :]


FAULTS = {
    "missing": (Path.unlink, "is missing; run `python -m foregather.openmp enable` again"),
    "foreign": (patched(foreign), "install the wheel for"),
    "newer": (patched(newer), "GLIBC_9.34' not found"),
    "cut": (patched(cut), "enable` again"),
    "garbled": (patched(garbled), "is for no processor"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_unusable_library_leaves_the_interpreter_as_it_was(environment: Environment, program: str, fault: str) -> None:
    spoil, why = FAULTS[fault]
    spoil(enabled(environment).place)
    assert environment.said("-c", program) == NONE
    said = environment.run("-m", "foregather.openmp", "status")
    assert (said.returncode, said.stderr) == (1, "") and len(said.stdout.splitlines()) == 1
    assert why in said.stdout, said.stdout


@pytest.mark.parametrize("fault", ["foreign", "newer", "garbled"])
def test_an_unusable_library_is_not_enabled(environment: Environment, fault: str) -> None:
    before = environment.files()
    source = environment.site / "foregather" / "lib" / "libforegather_gomp.so"
    image = source.read_bytes()
    FAULTS[fault][0](source)
    try:
        said = environment.run("-m", "foregather.openmp", "enable")
    finally:
        source.write_bytes(image)
    assert said.returncode == 1 and "nothing was changed" in said.stderr and "Traceback" not in said.stderr, said.stderr
    assert environment.files() == before


def test_an_installation_without_libraries_is_named(environment: Environment, program: str) -> None:
    source = enabled(environment).site / "foregather" / "lib" / "libforegather_gomp.so"
    image = source.read_bytes()
    source.unlink()
    try:
        status = environment.run("-m", "foregather.openmp", "status")
        enable = environment.run("-m", "foregather.openmp", "enable")
    finally:
        source.write_bytes(image)
    assert f"enabled, but not loaded: {source} is missing" in status.stdout and status.stderr == "", status
    assert "this installation has no libforegather_gomp.so; install foregather from a wheel" in enable.stderr, enable


def test_a_package_that_has_gone_leaves_the_interpreter_as_it_was(folder: Path, program: str) -> None:
    environment = enabled(Environment(folder / "gone"))
    shutil.rmtree(environment.site / "foregather")
    assert environment.said("-c", program) == NONE


def test_pip_uninstalls_all_of_it(folder: Path, program: str) -> None:
    pytest.importorskip("pip")
    environment = Environment(folder / "uninstalled")
    enabled(environment)
    pip = [sys.executable, "-m", "pip", "--python", str(environment.python), "uninstall", "--yes", "foregather"]
    subprocess.run(pip, check=True, capture_output=True, timeout=120)
    assert environment.files() == {} and not environment.place.parent.exists()
    assert environment.said("-c", program) == NONE


def test_a_folder_that_cannot_be_written_is_named(environment: Environment) -> None:
    before = environment.files()
    call = [str(environment.python), "-B", "-m", "foregather.openmp", "enable"]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root can write everywhere, and there is no setpriv")
        call = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override", *call]
    folder = environment.place.parents[1]
    os.chmod(folder, 0o555)
    try:
        said = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    finally:
        os.chmod(folder, 0o755)
    assert said.returncode == 1 and said.stderr.startswith("foregather.openmp: cannot write /"), said.stderr
    assert "Permission denied; nothing was changed" in said.stderr and environment.files() == before


def test_a_full_disk_leaves_nothing_behind(environment: Environment) -> None:
    before = environment.files()
    limit = [sys.executable, "-c", "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); os.execv(sys.argv[1], sys.argv[1:])"]
    call = [*limit, str(environment.python), "-B", "-m", "foregather.openmp", "enable"]
    said = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    assert said.returncode == 1 and "File too large; nothing was changed" in said.stderr, said.stderr
    assert environment.files() == before


def test_a_runtime_that_is_loaded_first_stays(environment: Environment, program: str, folder: Path) -> None:
    first = compiled(folder, "libgomp-first", "int first;")
    assert enabled(environment).said("-c", program, LD_PRELOAD=str(first)) == NONE
    said = environment.run("-m", "foregather.openmp", "status", LD_PRELOAD=str(first))
    assert said.returncode == 1 and f"another library is loaded before it: {first}" in said.stdout, said


def test_conda_keeps_its_one_runtime(environment: Environment) -> None:
    (environment.folder / "conda-meta").mkdir()
    name = environment.folder / "lib" / "libgomp.so.1"
    try:
        name.symlink_to("libomp.so")
        (environment.folder / "lib" / "libomp.so").touch()
        said = environment.run("-m", "foregather.openmp", "enable")
        assert said.returncode == 1 and "one OpenMP runtime, libomp.so" in said.stderr, said
        name.unlink()
        assert "conda environment" in environment.said("-m", "foregather.openmp", "enable")
    finally:
        name.unlink(missing_ok=True)
        (environment.folder / "lib" / "libomp.so").unlink()
        (environment.folder / "conda-meta").rmdir()


def test_a_package_outside_of_the_environment_is_refused(environment: Environment, folder: Path) -> None:
    bare = folder / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True, timeout=60)
    said = subprocess.run(
        [str(bare / "bin" / "python"), "-m", "foregather.openmp", "enable"],
        env={**os.environ, "PYTHONPATH": str(environment.site)}, capture_output=True, text=True, timeout=60, check=False,
    )
    assert said.returncode == 1 and "reads no .pth files; install it into the environment" in said.stderr, said


def test_an_environment_may_be_reached_by_links(environment: Environment, program: str, folder: Path) -> None:
    link = folder / "link"
    link.symlink_to(environment.folder)
    call = [str(link / "bin" / "python")]
    for arguments in (["-m", "foregather.openmp", "enable"], ["-m", "foregather.openmp", "status"], ["-c", program]):
        said = subprocess.run([*call, *arguments], capture_output=True, text=True, timeout=60, check=False)
        assert (said.returncode, said.stderr) == (0, ""), said
    assert said.stdout.strip() == OURS
    assert environment.said("-m", "foregather.openmp", "status").startswith("openmp: enabled, and loaded")


def test_verbs_take_no_argument(environment: Environment) -> None:
    said = environment.run("-m", "foregather.openmp", "enable", "x")
    assert said.returncode == 1 and "a script of that name is ./enable" in said.stderr


def test_a_blas_is_enabled_by_itself(environment: Environment) -> None:
    assert "blas: enabled for " in environment.said("-m", "foregather.blas", "enable")
    try:
        assert environment.said("-c", "import ctypes; print(hasattr(ctypes.CDLL(None), 'cblas_dgemm'))") == "True"
        assert environment.run("-m", "foregather.openmp", "status").returncode == 1
    finally:
        environment.said("-m", "foregather.blas", "disable")
    assert environment.said("-c", "import ctypes; print(hasattr(ctypes.CDLL(None), 'cblas_dgemm'))") == "False"


def test_the_systems_names_stand_for_it_where_there_is_none(environment: Environment, folder: Path) -> None:
    # The package's own code, told that the system has no library of these names.
    code = (
        "from foregather import _environment as e\n"
        "e._missing_names = lambda: ['libgomp.so.91', 'libgomp.so.91.0.0']\n"
        "e.enable(e.OPENMP)"
    )
    stand_in = compiled(folder, "stand-in", "int stand_in;", "-Wl,-soname,libgomp.so.91.0.0")
    user = compiled(folder, "user", LOOP, "-fopenmp", "-Wl,--no-as-needed", str(stand_in))
    stand_in.unlink()
    program = PROGRAM.format(loop=str(user))
    assert environment.run("-c", program).returncode == 1
    environment.said("-c", code)
    assert environment.said("-c", program) == OURS
    stack = "print(*[line.split()[1] for line in open('/proc/self/maps') if '[stack]' in line])"
    assert environment.said("-c", stack) == "rw-p", "the loader makes stacks executable for a library that asks for it"
    assert environment.said("-m", "foregather.openmp", "status").startswith("openmp: enabled, and loaded")
