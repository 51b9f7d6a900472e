"""Reading `.npz` archives from strangers: plain arrays only, nothing that runs, nothing that explodes."""

from __future__ import annotations

import io
import lzma
import math
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gpcn.core.errors import DataError
from gpcn.core.input_files import require_regular_file

ALWAYS_FINE = 1 << 30
LARGEST_RATIO = 100
NOT_AN_ARCHIVE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    TypeError,
    OverflowError,
    IndexError,
    struct.error,
)
"""What `zipfile` and its decompressors raise for bytes that are no archive."""
MOST_DIMENSIONS, LARGEST_SIZE = 8, 1 << 62
Arrays = dict[str, npt.NDArray[Any]]


def read_npz(source: Path | bytes, name: str) -> Arrays:
    """Every array of an archive, after checks that need none of its contents to be unpacked.

    Refused: object arrays (they are pickles), member names that are paths, headers that promise another size
    than the member has, archives that expand beyond 1 GiB and a hundred times their size.
    """
    if isinstance(source, Path):
        require_regular_file(source)
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
            _check_expansion(archive, name)
            return {_key(member, name): _read_array(archive, member, name) for member in archive.infolist()}
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror or error}") from error
    except NOT_AN_ARCHIVE as error:
        brief = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(f"{name} is not a readable .npz archive ({brief}); it may be cut off or altered") from error


def require_array(arrays: Arrays, key: str, kinds: str, dimensions: int) -> npt.NDArray[Any]:
    """The array called `key`; `KeyError` without one, `ValueError` where it is of other kinds or dimensions."""
    array = arrays[key]
    if array.dtype.kind not in kinds or array.ndim != dimensions:
        raise ValueError(f"{key} is {array.dtype} of shape {array.shape}, which no gpcn file has")
    return array


def _check_expansion(archive: zipfile.ZipFile, name: str) -> None:
    packed = sum(member.compress_size for member in archive.infolist())
    expanded = sum(member.file_size for member in archive.infolist())
    if expanded > max(ALWAYS_FINE, LARGEST_RATIO * packed):
        raise DataError(
            f"{name} would expand from {packed:,} to {expanded:,} bytes, which looks like a zip bomb; "
            "if you trust it, save it again uncompressed with numpy.savez"
        )


def _key(member: zipfile.ZipInfo, name: str) -> str:
    key = member.filename
    if not key.endswith(".npy") or "/" in key or "\\" in key or ".." in key:
        raise DataError(f"{name} holds a member called {key!r}; expected plain array names that end in .npy")
    return key.removesuffix(".npy")


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> npt.NDArray[Any]:
    with archive.open(member) as stream:
        shape, fortran, dtype = _header(stream, member, name)
        if len(shape) > MOST_DIMENSIONS or any(type(size) is not int or not 0 <= size < LARGEST_SIZE for size in shape):
            raise DataError(f"{name}: array {_key(member, name)!r} claims an impossible shape; it is altered")
        promised = math.prod(shape) * dtype.itemsize
        if promised > member.file_size:
            raise DataError(
                f"{name}: array {_key(member, name)!r} promises {promised:,} bytes but holds "
                f"{member.file_size:,}; it is cut off or altered"
            )
        body = stream.read()
    if len(body) != promised:
        raise DataError(
            f"{name}: array {_key(member, name)!r} promises {promised:,} bytes but holds {len(body):,}; "
            "it is cut off or altered"
        )
    if dtype.itemsize == 0:
        return np.empty(shape, dtype=dtype)
    array = np.frombuffer(bytearray(body), dtype=dtype)
    return array.reshape(shape, order="F" if fortran else "C")


def _header(stream: Any, member: zipfile.ZipInfo, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    return read_npy_header(stream, f"{name}: array {_key(member, name)!r}", allow_objects=False)


def read_npy_header(
    stream: BinaryIO, where: str, *, allow_objects: bool
) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type from the start of a `.npy` stream."""
    try:
        version = np.lib.format.read_magic(stream)
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = reader(stream)
    except Exception as error:  # the header is Python source, and its parser fails in many ways
        raise DataError(f"{where} has no valid .npy header; it is cut off or altered") from error
    if dtype.hasobject and not allow_objects:
        raise DataError(
            f"{where} holds Python objects, which could run code when read; expected numbers, booleans or text"
        )
    return shape, fortran, dtype
