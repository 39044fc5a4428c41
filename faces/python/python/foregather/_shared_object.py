"""Reads and edits 64-bit ELF shared objects, for `_environment`."""

import struct

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_VERSION = struct.Struct("<H")
_MAGIC = b"\x7fELF\x02\x01\x01"

# Section types: the versions that a library defines, and the version of each symbol.
_VERSIONS, _VERSION_OF_SYMBOL = 0x6FFFFFFD, 0x6FFFFFFF
_FIRST_VERSION = 2
_HIDDEN = 0x8000

_MACHINES = {62: "x86_64", 183: "aarch64"}


def machine(head: bytes) -> str | None:
    """Returns the architecture of a library, or `None` if the file has no 64-bit ELF header."""
    if len(head) < _HEADER.size or not head.startswith(_MAGIC):
        return None
    number = _HEADER.unpack_from(head)[2]
    return _MACHINES.get(number, f"machine {number}")


def for_versioned_references(library: bytes) -> bytes:
    """Returns a copy of a library whose symbols only resolve versioned references.

    Programs that were linked with GCC's libgomp use versioned symbols. Libraries that were built
    for another OpenMP runtime, such as MKL, do not: some of their calls would go to this library, the
    others to their own runtime, and each thread would believe that it is thread 0.

    The loader always binds unversioned references to symbols of the first version. In libforegather_gomp.so,
    these are the OpenACC symbols.

    Raises `ValueError` if the library is damaged.
    """
    by_kind = {section[1]: section for section in _sections(library)}
    if _VERSIONS not in by_kind or _VERSION_OF_SYMBOL not in by_kind:
        raise ValueError("the library has no versions of symbols")
    count, (at, size) = by_kind[_VERSIONS][7], by_kind[_VERSION_OF_SYMBOL][4:6]
    copy = bytearray(library)
    for place in range(at, at + size, _VERSION.size):
        (version,) = _VERSION.unpack_from(copy, place)
        # Higher numbers are versions of imported symbols.
        if _FIRST_VERSION <= version <= count:
            _VERSION.pack_into(copy, place, version | _HIDDEN)
    return bytes(copy)


def _sections(library: bytes) -> "list[tuple[int, ...]]":
    if machine(library) is None:
        raise ValueError("not a 64-bit ELF library")
    header = _HEADER.unpack_from(library)
    first, count = header[6], header[12]
    table = library[first : first + count * _SECTION.size]
    if len(table) < count * _SECTION.size:
        raise ValueError("the library is truncated")
    return list(_SECTION.iter_unpack(table))


def with_names(library: bytes, names: "list[str]") -> bytes:
    """Returns an empty shared object whose DT_NEEDED entries are `names`, with `$ORIGIN` as its search path.

    If the files with those names in its folder are links to a loaded library, the loader registers that library
    under these names for packages that need them. The machine type is copied from `library`.
    """
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in [*names, "$ORIGIN"])
    starts = [strings.index(b"\0" + name.encode() + b"\0") + 1 for name in [*names, "$ORIGIN"]]
    needed, rpath, string_table, symbol_table, string_bytes, symbol_bytes = 1, 15, 5, 6, 10, 11
    at = _HEADER.size + 3 * _SEGMENT.size
    symbols = b"\0" * 24
    place = at + len(symbols)
    dynamic_at = (place + len(strings) + 7) // 8 * 8
    entries = [(needed, start) for start in starts[:-1]] + [(rpath, starts[-1]), (string_table, place)]
    entries += [(symbol_table, at), (string_bytes, len(strings)), (symbol_bytes, len(symbols)), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    end = dynamic_at + len(dynamic)
    number = _HEADER.unpack_from(library)[2]
    shared_object = 3
    head = _HEADER.pack(_MAGIC, shared_object, number, 1, 0, _HEADER.size, 0, 0, _HEADER.size, _SEGMENT.size, 3, 0, 0, 0)
    # The whole file, writable because the loader relocates addresses; the dynamic section; and a
    # non-executable stack, because the loader makes stacks executable if a library does not declare this.
    whole = _SEGMENT.pack(1, 6, 0, 0, 0, end, end, 1 << 16)
    part = _SEGMENT.pack(2, 6, dynamic_at, dynamic_at, dynamic_at, len(dynamic), len(dynamic), 8)
    stack = _SEGMENT.pack(0x6474E551, 6, 0, 0, 0, 0, 0, 16)
    body = (head + whole + part + stack + symbols + strings).ljust(dynamic_at, b"\0")
    return body + dynamic
