"""One file of named arrays: checked as a whole before anything in it is believed, then mapped.

A prefix (magic, format, checksum and length of the header), a header in JSON, and the arrays'
bytes, little-endian, each at a multiple of 64. The header names every array's type, shape, place
and checksum, and carries what the owner wants to know about them. Nothing is ever unpickled.

A checksum is taken over blocks, so that two threads can share the work: CRC-32 of the blocks'
CRC-32s. It finds what disks and crashes do to a file; it is no defence against forgery.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from graphmem.errors import InvalidInput, StoreCorrupt

__all__ = ["Damaged", "Extent", "Header", "checksum", "file_checksum", "verify"]

BLOCK_BYTES = 8 << 20
ALIGNMENT = 64

_MAGIC = b"grmmarr\n"
_FORMAT = 1
_PREFIX = struct.Struct("<8sIIQ")
_READ_BYTES = 1 << 17  # stays in a core's cache between the disk's copy and the sum
_MAX_HEADER_BYTES = 64 << 20
# Booleans, integers, floats, and bytes of a fixed length.
_TYPE = re.compile(r"\|[biu]1|<[iuf][248]|\|S[1-9][0-9]{0,5}")


class Damaged(StoreCorrupt):
    """A file of arrays is not what it should be; what it holds can be made again from the rows."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes in a file that must have a checksum.

    Attributes:
        start: offset of the first byte.
        size: number of bytes.
    """

    path: Path
    start: int
    size: int
    checksum: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where an array lies; ``start`` counts from where the arrays begin."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    checksum: int

    @property
    def size(self) -> int:
        return np.dtype(self.dtype).itemsize * math.prod(self.shape)

    def checked(self) -> _Entry:
        """The entry itself, if it describes something that this module writes."""
        numbers = (*self.shape, self.start, self.checksum)
        if not isinstance(self.name, str) or not all(type(n) is int and n >= 0 for n in numbers):
            raise Damaged("its header makes no sense")
        if not _TYPE.fullmatch(self.dtype) or self.start % ALIGNMENT:
            raise Damaged(f"it holds an array of unknown type or place: {self.dtype!r}")
        return self


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about itself.

    Attributes:
        about: the owner's part: what JSON can hold.
        entries: the arrays.
        start: offset of the arrays.
        size: bytes of the whole file.
    """

    about: Mapping[str, Any]
    entries: tuple[_Entry, ...]
    start: int
    size: int

    @classmethod
    def read(cls, file: BinaryIO) -> Header:
        """The header of a file whose length fits it. The arrays are not looked at.

        Raises:
            Damaged: it is another kind of file, of another format, or cut short.
        """
        size = os.fstat(file.fileno()).st_size
        prefix = file.read(_PREFIX.size)
        if len(prefix) < _PREFIX.size:
            raise Damaged("it is cut short")
        magic, version, crc, length = _PREFIX.unpack(prefix)
        if magic != _MAGIC or version != _FORMAT:
            raise Damaged("it is of another format")
        if length > min(size - _PREFIX.size, _MAX_HEADER_BYTES):
            raise Damaged("it is cut short")
        text = file.read(length)
        if len(text) < length or zlib.crc32(text) != crc:
            raise Damaged("its header is damaged")
        header = cls._parsed(text, _aligned(_PREFIX.size + length))
        if header.size != size:
            raise Damaged(f"it has {size} bytes instead of {header.size}")
        return header

    @classmethod
    def _parsed(cls, text: bytes, start: int) -> Header:
        try:
            content = json.loads(text)
            entries = tuple(
                _Entry(name, dtype, tuple(shape), place, crc).checked()
                for name, dtype, shape, place, crc in content["arrays"]
            )
            header = cls(dict(content["about"]), entries, start, start + int(content["size"]))
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise Damaged("its header makes no sense") from error
        if any(start + entry.start + entry.size > header.size for entry in entries):
            raise Damaged("its header makes no sense")
        return header

    def extents(self, path: Path) -> list[Extent]:
        """What to verify in the file, which is at ``path``."""
        return [
            Extent(path, self.start + entry.start, entry.size, entry.checksum)
            for entry in self.entries
        ]

    def arrays(self, file: BinaryIO) -> dict[str, NDArray[Any]]:
        """The arrays as views of the mapped file: read-only, and read from it when looked at.

        The file may be closed, renamed or unlinked, never shortened.
        """
        mapped = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ)
        return {entry.name: _view(mapped, entry, self.start) for entry in self.entries}


def _view(mapped: mmap.mmap, entry: _Entry, start: int) -> NDArray[Any]:
    dtype = np.dtype(entry.dtype)
    if entry.size:
        return np.ndarray(entry.shape, dtype, mapped, start + entry.start)
    empty = np.empty(entry.shape, dtype)
    empty.flags.writeable = False
    return empty


def write(file: BinaryIO, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a whole file of arrays: of booleans, integers, floats, or bytes of a fixed length.

    Args:
        file: empty, open for writing.
        about: whatever JSON can hold; ``Header.about`` when read.
        arrays: of any size and layout; they must not change meanwhile.

    Raises:
        InvalidInput: an array of another type.
        OSError: the disk refuses.
    """
    plain = {name: _plain(name, array) for name, array in arrays.items()}
    entries, size = [], 0
    for name, array in plain.items():
        start = _aligned(size)
        size = start + array.nbytes
        crc = checksum(_bytes(array))
        entries.append((name, array.dtype.str, array.shape, start, crc))
    content = {"about": dict(about), "arrays": entries, "size": size}
    text = json.dumps(content, separators=(",", ":")).encode("ascii")
    file.write(_PREFIX.pack(_MAGIC, _FORMAT, zlib.crc32(text), len(text)))
    file.write(text)
    _pad(file, _PREFIX.size + len(text))
    written = 0
    for array in plain.values():
        written += _pad(file, written)
        for block in _blocks(_bytes(array)):
            written += file.write(block)


def checksum(data: memoryview | bytes) -> int:
    """The checksum of bytes in memory."""
    return _combined([zlib.crc32(block) for block in _blocks(memoryview(data))])


def file_checksum(path: Path, size: int) -> int:
    """The checksum of a file's first ``size`` bytes.

    Raises:
        OSError: it cannot be read.
        Damaged: it has fewer.
    """
    return _combined([_block_crc(*block) for block in _parts(Extent(path, 0, size, 0))])


def verify(extents: Sequence[Extent]) -> None:
    """Compare bytes on disk with their checksums, in two threads if there are many.

    They are read, not mapped: a disk that fails says so, and the memory that is counted as this
    process's does not grow by them.

    Raises:
        Damaged: some differ, or a file is cut short.
        OSError: a file cannot be read.
    """
    parts = [part for extent in extents for part in _parts(extent)]
    if sum(extent.size for extent in extents) <= BLOCK_BYTES:
        sums = iter([_block_crc(*part) for part in parts])
    else:
        with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as threads:
            sums = iter(list(threads.map(_block_crc, *zip(*parts, strict=True))))
    for extent in extents:
        if _combined([next(sums) for _ in _parts(extent)]) != extent.checksum:
            raise Damaged(f"{extent.path.name} is damaged")


def _plain(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array in C order and little-endian; itself where it is."""
    dtype = array.dtype.newbyteorder("<")
    if not _TYPE.fullmatch(dtype.str):
        raise InvalidInput(
            f"array {name!r} is of {array.dtype}: only booleans, numbers and bytes can be saved"
        )
    return np.asarray(array, dtype=dtype, order="C")


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _blocks(data: memoryview) -> Iterator[memoryview]:
    return (data[at : at + BLOCK_BYTES] for at in range(0, len(data), BLOCK_BYTES))


def _parts(extent: Extent) -> list[tuple[Path, int, int]]:
    end = extent.start + extent.size
    return [
        (extent.path, at, min(BLOCK_BYTES, end - at))
        for at in range(extent.start, end, BLOCK_BYTES)
    ]


def _block_crc(path: Path, start: int, size: int) -> int:
    buffer = memoryview(bytearray(min(size, _READ_BYTES)))
    crc = 0
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while size:
            count = file.readinto(buffer[:size])
            if not count:
                raise Damaged(f"{path.name} is cut short")
            crc = zlib.crc32(buffer[:count], crc)
            size -= count
    return crc


def _combined(crcs: Iterable[int]) -> int:
    return zlib.crc32(b"".join(crc.to_bytes(4, "little") for crc in crcs))


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _pad(file: BinaryIO, offset: int) -> int:
    return file.write(bytes(_aligned(offset) - offset))
