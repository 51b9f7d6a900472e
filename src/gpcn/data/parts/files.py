"""The Parquet files of one part: they appear whole, then `part.json` says that all are there, with their checksums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from gpcn.core.atomic import replacing
from gpcn.core.errors import CheckpointError
from gpcn.data.parts.manifest import ADVICE
from gpcn.records import layout
from gpcn.records.sealed import check_file, file_digest, read_record, write_sealed

BATCH = 1 << 20  # rows


class PartRecord(Struct, frozen=True):
    """`part.json`: whose part it is, and the checksums of its files."""

    owner: str
    files: dict[str, str]


def write_part(folder: Path, tables: Mapping[str, pa.Table], owner: str) -> dict[str, str]:
    """Write `tables` as `name.parquet` each; the checksum of every file. `owner` is whose part it is."""
    for name, table in tables.items():
        write_part_table(folder / f"{name}.parquet", table)
    return seal_part(folder, [f"{name}.parquet" for name in tables], owner)


def write_part_table(file: Path, table: pa.Table) -> None:
    """Write a Parquet file that appears whole."""
    with replacing(file) as stream:
        pq.write_table(table, stream, compression="zstd")


def seal_part(folder: Path, names: list[str], owner: str) -> dict[str, str]:
    """Say that the files `names` in `folder` are all there are; the checksum of each."""
    digests = {name: file_digest(folder / name) for name in names}
    write_sealed(folder / layout.PART, PartRecord(owner, digests))
    return digests


def finished_part(folder: Path, owner: str) -> dict[str, str] | None:
    """The checksums of a part that is there, whole and `owner`'s; `None` where it is to be written."""
    digests = part_digests(folder, owner)
    try:
        for name, digest in (digests or {}).items():
            check_file(folder / Path(name).name, digest, ADVICE)
    except CheckpointError:
        return None
    return digests


def part_digests(folder: Path, owner: str) -> dict[str, str] | None:
    """The checksums of the files of a part, where it says that it is `owner`'s."""
    if not (folder / layout.PART).is_file():
        return None
    try:
        record = read_record(folder / layout.PART, PartRecord, ADVICE)
    except CheckpointError:
        return None
    return record.files if record.owner == owner else None


def read_part_table(folder: Path, name: str, digests: Mapping[str, str]) -> pa.Table:
    """The table `name`, the one that was written."""
    with _checked(folder, name, digests) as file:
        return pq.read_table(file)


def read_part_batches(folder: Path, name: str, digests: Mapping[str, str]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The table `name` a batch at a time, each with the number of rows before it."""
    with _checked(folder, name, digests) as file:
        before = 0
        for batch in pq.ParquetFile(file).iter_batches(BATCH):
            yield before, batch
            before += batch.num_rows


def count_part_rows(folder: Path, name: str) -> int:
    """How many rows the table `name` has, which was checked to be there."""
    return int(pq.read_metadata(folder / f"{name}.parquet").num_rows)


@contextmanager
def _checked(folder: Path, name: str, digests: Mapping[str, str]) -> Iterator[Path]:
    file = folder / f"{name}.parquet"
    if file.name not in digests:
        raise CheckpointError(f"{folder} has no {file.name} among its files; {ADVICE}")
    check_file(file, digests[file.name], ADVICE)
    try:
        yield file
    except (OSError, pa.ArrowException) as error:
        raise CheckpointError(f"{file} cannot be read: {error!s:.200}; {ADVICE}") from error


def column_array(table: pa.Table, name: str) -> Any:
    """A column as an array of NumPy; `KeyError` where the table has none of that name."""
    return table.column(name).combine_chunks().to_numpy(zero_copy_only=False)
