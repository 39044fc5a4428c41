"""Enables or disables a library of the wheel for all programs of a Python environment.

At start-up, the interpreter executes a line of a `.pth` file, which loads the library for the whole
process, before programs load theirs. The line does nothing if anything is missing or unexpected.
"""

import base64
import hashlib
import json
import os
import platform
import shutil
import site
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn

from . import _shared_object

# The folder itself, with links resolved; its files may be links into an installer's cache.
_PACKAGE = Path(os.path.realpath(os.path.dirname(__file__)))
LIBRARIES = _PACKAGE / "lib"
_SITE = _PACKAGE.parent

_LINE = """
import os
try:
    with open("/proc/self/maps", "rb") as maps:
        loaded = maps.read()
    is_whole = os.stat({place}).st_size == {size}
    if is_whole and os.environ.get("FOREGATHER") != "off" and not any(name in loaded for name in {others}):
        import ctypes
        for path in {paths}:
            ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
except Exception:
    pass
"""

# Reports whether a new interpreter has loaded a library, and if not, why.
_PROBE = """
import ctypes, json, os, sys
place, names = os.path.realpath(sys.argv[1]), json.loads(sys.argv[2])
with open("/proc/self/maps") as maps:
    loaded = sorted({line.split(None, 5)[5].rstrip("\\n") for line in maps if "/" in line})
others = [path for path in loaded if path != place and any(name in path for name in names)]
error = None
if place not in loaded and not others:
    try:
        ctypes.CDLL(place)
    except OSError as raised:
        error = str(raised)
print("\\n" + json.dumps([place in loaded, others, error]))
"""
_PROBE_LIMIT_S = 60

# Packages load the system's runtime under these names.
_SYSTEM_NAMES = ["libgomp.so.1", "libgomp.so.1.0.0"]
# The file names of runtimes for compilers other than GCC start with these.
_OTHER_RUNTIMES = ("libiomp5.", "libiomp5-", "libomp.", "libomp-")


@dataclass(frozen=True)
class Library:
    """A library in the wheel that replaces the one that a program would load."""

    module: str
    name: str
    # Parts of the paths of equivalent libraries. If one of them is already loaded, it is used.
    others: tuple[str, ...]
    # Whether a program may also load another library with the same symbols, which must not be replaced.
    shares_names: bool

    @property
    def source(self) -> Path:
        return LIBRARIES / self.name

    @property
    def folder(self) -> Path:
        return LIBRARIES / "environment"

    @property
    def place(self) -> Path:
        """The file that the line loads."""
        return self.folder / self.name if self.shares_names else self.source

    @property
    def names(self) -> Path:
        """The shim that makes the loader accept the library under the system library's names."""
        return self.folder / "names.so"

    @property
    def line(self) -> Path:
        # Python reads such files in the order of their names.
        return _SITE / f"00_foregather_{self.module}.pth"

    def stop(self, sentence: str) -> NoReturn:
        sys.exit(f"foregather.{self.module}: {sentence}")

    def require(self) -> Path:
        """Returns the library's file in the wheel, or exits with an error if there is none."""
        if not self.source.exists():
            self.stop(f"this installation has no {self.name}; install foregather from a wheel, which contains it")
        return self.source


OPENMP = Library("openmp", "libforegather_gomp.so", ("/libforegather_gomp", "/libgomp", "/libiomp5", "/libomp"), True)
BLAS = Library("blas", "libforegather_blas.so", ("/libforegather_blas",), False)


def enable(library: Library) -> None:
    """Makes every interpreter of this environment load the library at start-up."""
    _check(library)
    before = library.line.read_bytes() if library.line.exists() else None
    try:
        _write(library)
    except OSError as error:
        _restore(library, before)
        path = error.filename or library.line
        library.stop(f"cannot write {path}: {error.strerror}; nothing was changed")
    except ValueError:
        _restore(library, before)
        library.stop(f"{library.source} is damaged; nothing was changed: install foregather again")
    clean = {name: value for name, value in os.environ.items() if name not in ("FOREGATHER", "LD_PRELOAD")}
    why = _why_not_loaded(library, clean)
    if why is not None:
        _restore(library, before)
        library.stop(f"{why}; nothing was changed")
    print(f"{library.module}: enabled for {sys.prefix}, by {library.line}")
    for note in _notes(library):
        print(f"{library.module}: {note}")


def disable(library: Library) -> None:
    """Undoes `enable`."""
    was_enabled = library.line.exists()
    try:
        _remove(library)
    except OSError as error:
        library.stop(f"cannot remove {error.filename or library.line}: {error.strerror}")
    print(f"{library.module}: {'disabled' if was_enabled else 'was not enabled'} for {sys.prefix}")


def status(library: Library) -> None:
    """Prints whether new interpreters load the library, and if not, why. Exits with 1 if they do not."""
    if not library.line.exists():
        print(f"{library.module}: not enabled for {sys.prefix}")
        sys.exit(1)
    why = _why_not_loaded(library, dict(os.environ))
    if why is not None:
        print(f"{library.module}: enabled, but not loaded: {why}")
        sys.exit(1)
    print(f"{library.module}: enabled, and loaded by new interpreters: {library.place}")
    for note in _notes(library):
        print(f"{library.module}: {note}")


def _check(library: Library) -> None:
    library.require()
    read = [os.path.realpath(folder) for folder in [*site.getsitepackages(), site.getusersitepackages()]]
    if sys.flags.no_site or os.path.realpath(_SITE) not in read:
        library.stop(
            f"foregather is in {_SITE}, where this Python reads no .pth files; install it into the environment {sys.prefix}"
        )
    one = _one_of_conda()
    if library.shares_names and one is not None:
        library.stop(
            f"this conda environment gives all packages one OpenMP runtime, {one}, which Foregather's cannot replace in all of"
            " them; nothing was changed: run single programs with `python -m foregather.openmp SCRIPT`"
        )


def _write(library: Library) -> None:
    files = [library.line]
    if library.shares_names:
        image = library.source.read_bytes()
        library.folder.mkdir(exist_ok=True)
        _put(library.place, _shared_object.for_versioned_references(image))
        files.append(library.place)
        missing = _missing_names()
        for name in missing:
            link = library.folder / name
            link.unlink(missing_ok=True)
            link.symlink_to(library.name)
            files.append(link)
        if missing:
            _put(library.names, _shared_object.with_names(image, missing))
            files.append(library.names)
    _put(library.line, _line(library))
    _record(library, files)


def _line(library: Library) -> bytes:
    """Returns the line for the files that exist."""
    paths = [library.place] + ([library.names] if library.shares_names and library.names.exists() else [])
    code = _LINE.format(
        place=ascii(str(library.place)),
        size=library.source.stat().st_size,
        others=ascii(tuple(name.encode() for name in library.others)),
        paths=ascii([str(path) for path in paths]),
    )
    return f"import sys; exec({ascii(code)}, {{}})\n".encode()


def _put(path: Path, content: bytes) -> None:
    """Writes a file atomically."""
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        new.write_bytes(content)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def _remove(library: Library) -> None:
    library.line.unlink(missing_ok=True)
    _record(library, [])
    if library.shares_names and library.folder.exists():
        shutil.rmtree(library.folder)


def _restore(library: Library, before: bytes | None) -> None:
    """Restores the state before `enable`, as far as possible."""
    try:
        if before is None:
            _remove(library)
        else:
            _put(library.line, before)
    except OSError:
        # The line does nothing unless all of its files exist.
        pass


def _record(library: Library, files: list[Path]) -> None:
    """Updates RECORD, so that `pip uninstall` removes exactly these files of the library."""
    try:
        record = next(each for each in metadata.files("foregather") or [] if each.name == "RECORD")
    except (metadata.PackageNotFoundError, StopIteration):
        return
    path = Path(str(record.locate()))
    ours = [library.line] + ([library.folder] if library.shares_names else [])
    beginnings = tuple(str(each.relative_to(_SITE)) for each in ours)
    before = path.read_text(encoding="utf-8")
    kept = [line for line in before.splitlines(keepends=True) if not line.startswith(beginnings)]
    text = "".join(kept) + "".join(_record_line(file) for file in files)
    if text != before:
        _put(path, text.encode())


def _record_line(file: Path) -> str:
    name = file.relative_to(_SITE).as_posix()
    if file.is_symlink():
        return f"{name},,\n"
    content = file.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def _missing_names() -> list[str]:
    """Returns the libgomp names that the loader cannot find here, as in slim containers."""
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    call = [sys.executable, "-S", "-c", code]
    have = [subprocess.run([*call, name], capture_output=True, check=False).returncode == 0 for name in _SYSTEM_NAMES]
    return [name for name, is_there in zip(_SYSTEM_NAMES, have) if not is_there]


def _why_not_loaded(library: Library, environment: dict[str, str]) -> str | None:
    """Starts an interpreter. Returns `None` if it loads the library, or else the reason why not."""
    place, remedy = library.place, f"run `python -m foregather.{library.module} enable` again"
    for path in (library.source, place):
        if not path.exists():
            return f"{path} is missing; {remedy}"
    with place.open("rb") as file:
        built_for = _shared_object.machine(file.read(64))
    here = platform.machine()
    if built_for != here:
        return f"{place} is for {built_for or 'no processor'}, but this Python is for {here}; install the wheel for {here}"
    if place.stat().st_size != library.source.stat().st_size or library.line.read_bytes() != _line(library):
        return f"{library.line} is for another version or folder of foregather; {remedy}"
    answer = _probe(library, environment)
    if isinstance(answer, str):
        return answer
    is_loaded, others, error = answer
    if is_loaded:
        return None
    if environment.get("FOREGATHER") == "off":
        return "FOREGATHER=off"
    if others:
        return f"another library is loaded before it: {others[0]}"
    return f"{place} cannot be loaded here: {error or 'new interpreters read no .pth files'}"


def _probe(library: Library, environment: dict[str, str]) -> Any:
    call = [sys.executable, "-P", "-c", _PROBE, str(library.place), json.dumps(library.others)]
    try:
        ended = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=_PROBE_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"this Python cannot be started to try it: {error}"
    if ended.returncode != 0:
        said = (ended.stderr.strip().splitlines() or ["without a message"])[-1]
        return f"with the library enabled, this Python exits with code {ended.returncode}: {said}"
    return json.loads(ended.stdout.splitlines()[-1])


def _notes(library: Library) -> list[str]:
    """Returns notes about this environment for the user."""
    if not library.shares_names:
        return []
    notes = []
    others = _other_runtimes()
    if others:
        notes.append(f"{', '.join(others)}: another OpenMP runtime of this environment; packages that were built for it keep it")
    if (Path(sys.prefix) / "conda-meta").is_dir():
        notes.append(
            "this is a conda environment: its libgomp stays installed, and non-Python programs in it continue to use it"
        )
    return notes


def _other_runtimes() -> list[str]:
    """Returns the paths of other compilers' runtimes in this environment."""
    found = [Path(folder) / name for folder, _, names in os.walk(_SITE) for name in names]
    folder = Path(sys.prefix) / "lib"
    found += folder.iterdir() if folder.is_dir() else []
    return sorted({str(path) for path in found if path.name.startswith(_OTHER_RUNTIMES) and ".so" in path.name})


def _one_of_conda() -> str | None:
    """Returns the runtime that conda's `libgomp.so.1` links to, or `None` if that is libgomp."""
    prefix = Path(sys.prefix)
    name = prefix / "lib" / _SYSTEM_NAMES[0]
    if not (prefix / "conda-meta").is_dir() or not name.exists():
        return None
    target = name.resolve().name
    return None if target.startswith("libgomp") else target
