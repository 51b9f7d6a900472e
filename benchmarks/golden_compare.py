"""Two folders of golden results, value by value: the same to the bit, or what differs and by how much.

A value has a place, `cell/file:name`: the name of a column of a CSV file, of an array of an .npz file, a path in JSON.
"""

from __future__ import annotations

import csv
import json
import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
TOLERANCE = 1e-10
MOST_SHOWN = 60  # characters of a text that differs


@dataclass(frozen=True)
class Difference:
    """One value that is not the same; `size` is the largest absolute difference, infinite where numbers have none."""

    place: str
    size: float
    found: str


@dataclass(frozen=True)
class Allowed:
    """Values that may differ: places that match `pattern`, by at most `tolerance`."""

    pattern: str
    reason: str
    tolerance: float = TOLERANCE

    def covers(self, difference: Difference) -> bool:
        """Whether the difference is one of those."""
        return difference.size <= self.tolerance and fnmatchcase(difference.place, self.pattern)


def differences(before: Path, after: Path) -> list[Difference]:
    """All values of the cells in `before` and `after` that are not the same to the bit."""
    found = []
    files = [{file.relative_to(folder).as_posix() for file in _files(folder)} for folder in (before, after)]
    for file in sorted(files[0] | files[1]):
        if file not in files[0] or file not in files[1]:
            found.append(Difference(file, math.inf, f"only in {before if file in files[0] else after}"))
            continue
        old, new = dict(values(before / file)), dict(values(after / file))
        for name in [*old, *(name for name in new if name not in old)]:
            difference = _difference(f"{file}:{name}", old.get(name), new.get(name))
            if difference is not None:
                found.append(difference)
    return found


def read_exceptions(path: Path) -> tuple[Allowed, ...]:
    """The `[[allowed]]` tables of a TOML file: pattern, reason, tolerance (default 1e-10; inf accepts anything)."""
    try:
        return tuple(Allowed(**table) for table in tomllib.loads(path.read_text())["allowed"])
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise SystemExit(
            f"{path} is no list of exceptions: {error}; expected [[allowed]] tables with pattern, reason and, if not "
            f"{TOLERANCE:g}, tolerance"
        ) from error


def values(path: Path) -> Iterator[tuple[str, Array]]:
    """Every value of a file with its name."""
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            yield from [(name, arrays[name]) for name in arrays.files]
    elif path.suffix == ".json":
        yield from _leaves(json.loads(path.read_text()), "")
    elif path.suffix == ".csv":
        with path.open(newline="") as stream:
            for name, *column in zip(*csv.reader(stream), strict=True):
                yield name, _column(column)
    else:
        yield "", np.array(path.read_text())


def report(before: Path, after: Path, exceptions: tuple[Allowed, ...]) -> int:
    """Print what differs; how many differences no exception covers."""
    uncovered = 0
    covered = dict.fromkeys(exceptions, 0)
    for difference in differences(before, after):
        exception = next((candidate for candidate in exceptions if candidate.covers(difference)), None)
        if exception is None:
            uncovered += 1
            print(f"{difference.place}: {difference.found}")
        else:
            covered[exception] += 1
    for exception, count in covered.items():
        print(f"allowed, {count} of {exception.pattern}: {exception.reason}" + ("" if count else " (remove it)"))
    print(f"{uncovered} difference(s)" if uncovered else "the same" if not any(covered.values()) else "as allowed")
    return uncovered


def _files(folder: Path) -> list[Path]:
    """The files of all finished cells; what describes the folder itself, and what is being made, is hidden."""
    if not folder.is_dir():
        raise SystemExit(f"{folder} is no folder of golden results; make one with golden.py record --out {folder}")
    found = [file for file in folder.rglob("*") if file.is_file()]
    return [file for file in found if not any(part.startswith(".") for part in file.relative_to(folder).parts)]


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Array]]:
    """Numbers, texts and rectangular lists of them, by their paths."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{place}.{name}".lstrip("."))
        return
    array = _rectangular(value)
    if array is None:
        for position, inner in enumerate(value):
            yield from _leaves(inner, f"{place}[{position}]")
    else:
        yield place, array


def _rectangular(value: Any) -> Array | None:
    """The value as one array; none for a list that is none."""
    try:
        array = np.array(value)
    except ValueError:
        return None
    if array.dtype != object:
        return array
    return None if isinstance(value, list) else np.array(json.dumps(value))


def _column(texts: list[str]) -> Array:
    """Numbers where every text is one as Python writes it; `003` is none."""
    try:
        numbers = [float(text) for text in texts]
        written = all(text in (repr(number), str(int(number))) for text, number in zip(texts, numbers, strict=True))
        return np.array(numbers if written else texts)
    except (ValueError, OverflowError):  # a text, or NaN or infinity, which have no whole part
        return np.array(texts)


def _difference(place: str, old: Array | None, new: Array | None) -> Difference | None:
    if old is None or new is None:
        return Difference(place, math.inf, f"only {'after' if old is None else 'before'}")
    if old.dtype == new.dtype and old.shape == new.shape and old.tobytes() == new.tobytes():
        return None
    if old.shape != new.shape:
        return Difference(place, math.inf, f"shape {list(old.shape)}, now {list(new.shape)}")
    if old.dtype.kind not in "biuf" or new.dtype.kind not in "biuf":
        first = np.unravel_index(int(np.argmax(old != new)), old.shape)
        texts = [str(array[first])[:MOST_SHOWN] for array in (old, new)]
        count = f"{np.count_nonzero(old != new)} of {old.size} differ, " if old.ndim else ""
        return Difference(place, math.inf, f"{count}{texts[0]!r}, now {texts[1]!r}{_at(first)}")
    old_numbers, new_numbers = old.astype(np.float64), new.astype(np.float64)
    same = (old_numbers == new_numbers) | (np.isnan(old_numbers) & np.isnan(new_numbers))
    with np.errstate(invalid="ignore"):  # infinite on both sides is the same, NaN on one side is no number
        distance = np.nan_to_num(np.where(same, 0.0, np.abs(old_numbers - new_numbers)), nan=math.inf, posinf=math.inf)
    worst = np.unravel_index(int(np.argmax(distance)), distance.shape)
    what = "" if old.dtype == new.dtype else f"{old.dtype}, now {new.dtype}; "
    what += f"{np.count_nonzero(~same)} of {same.size} differ, by at most {distance[worst]:.3g}"
    return Difference(place, float(distance[worst]), f"{what} ({old[worst]}, now {new[worst]}{_at(worst)})")


def _at(position: tuple[Any, ...]) -> str:
    return f" at {[int(index) for index in position]}" if position else ""
