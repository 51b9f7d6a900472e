"""Encoders of columns that hold words: categories, tags, prose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from gpcn.preparation import values
from gpcn.preparation.scalar_encoders import MISSING

OTHER = "(other)"
FEW_LEVELS, MOST_LEVELS = 10, 64
MOST_TAGS, MOST_WORDS = 1000, 4096


@dataclass(frozen=True)
class Levels:
    """A category: a column per level. Rare levels are joined where there are many; missing is a level of its own."""

    role: ClassVar[str] = "category"
    column: str
    levels: tuple[str, ...]
    other: bool
    missing: bool

    @classmethod
    def fit(cls, column: str, cells: Any) -> Levels:
        """From texts, empty where missing."""
        counts = pc.value_counts(cells)
        pairs = dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
        return cls.of_counts(column, pairs)

    @classmethod
    def of_counts(cls, column: str, counts: Mapping[str, int]) -> Levels:
        """From how often each text occurs, the empty one where it is missing."""
        pairs, rows = dict(counts), sum(counts.values())
        missing = pairs.pop("", 0) > 0
        levels = sorted(pairs)
        if len(levels) > FEW_LEVELS:
            least = max(2, round(0.001 * rows))
            frequent = sorted((level for level in levels if pairs[level] >= least), key=lambda level: -pairs[level])
            levels = sorted(frequent[:MOST_LEVELS])
        return cls(column, tuple(levels), len(levels) < len(pairs), missing)

    @property
    def names(self) -> list[str]:
        """`column=level`."""
        extra = [*([OTHER] if self.other else []), *([MISSING] if self.missing else [])]
        return [f"{self.column}={level}" for level in (*self.levels, *extra)]

    @property
    def how(self) -> str:
        """For people."""
        joined = "; rare and new levels joined" if self.other else ""
        return "a column per level" + joined + ("; missing is a level" if self.missing else "")

    def encode(self, column: Any, rows: int) -> sp.csr_array:
        """One-hot."""
        cells = pa.array([""] * rows, pa.string()) if column is None else category_texts(column)
        width = len(self.levels)
        positions = self._positions(cells).fill_null(-1)
        where = np.asarray(positions.to_numpy(zero_copy_only=False), dtype=np.int64).copy()
        empty = pc.equal(cells, "").to_numpy(zero_copy_only=False)
        strange = (where < 0) & ~empty
        if self.other:
            where[strange] = width
        if self.missing:
            where[empty] = width + self.other
        kept = np.flatnonzero(where >= 0)
        ones = np.ones(kept.size, dtype=np.float32)
        return sp.csr_array((ones, (kept, where[kept])), shape=(rows, len(self.names)))

    def _positions(self, cells: Any) -> Any:
        """Which level a cell is, null for none; `1.0` is the level `1` where there is no other."""
        levels = pa.array(self.levels, pa.string())
        return pc.coalesce(
            pc.index_in(cells, value_set=levels), pc.index_in(values.without_decimals(cells), value_set=levels)
        )

    def strangers(self, column: Any) -> list[str]:
        """Levels that were not there when this was fitted, or are joined; nothing where joining is as fitted."""
        if self.other:
            return []
        distinct = pc.unique(category_texts(column))
        return sorted({*distinct.filter(self._positions(distinct).is_null()).to_pylist()} - {""})

    def state(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Tags:
    """Several values in a cell: a column per tag that occurs twice or more, 1 where the cell has it."""

    role: ClassVar[str] = "tags"
    column: str
    separator: str | None
    tags: tuple[str, ...]

    @classmethod
    def fit(cls, column: str, lists: Any, separator: str | None) -> Tags:
        """From lists of texts."""
        _, entries = values.entries_of_lists(lists)
        return cls(column, separator, tuple(_frequent(entries, MOST_TAGS)))

    @property
    def names(self) -> list[str]:
        """`column:tag`."""
        return [f"{self.column}:{tag}" for tag in self.tags]

    @property
    def how(self) -> str:
        """For people."""
        return "a column per tag"

    def encode(self, column: Any, rows: int) -> sp.csr_array:
        """Multi-hot."""
        shape = (rows, len(self.tags))
        if column is None:
            return sp.csr_array(shape, dtype=np.float32)
        at, entries = values.entries_of_lists(values.column_tag_lists(column, self.separator))
        block = _counted(at, entries, self.tags, shape)
        block.data[:] = 1
        return block

    def state(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Words:
    """Prose: the words that occur in two texts or more, at most 4,096, weighed by TF-IDF, each text of length one."""

    role: ClassVar[str] = "text"
    column: str
    words: tuple[str, ...]
    idf: tuple[float, ...]

    @classmethod
    def fit(cls, column: str, lists: Any) -> Words:
        """From lists of words."""
        rows, entries = _words(lists)
        words = tuple(_frequent(entries, MOST_WORDS, rows))
        counts = _counted(rows, entries, words, (len(lists), len(words)))
        documents = np.bincount(counts.indices, minlength=len(words))
        return cls(column, words, tuple((np.log((1 + len(lists)) / (1 + documents)) + 1).tolist()))

    @property
    def names(self) -> list[str]:
        """`column~word`."""
        return [f"{self.column}~{word}" for word in self.words]

    @property
    def how(self) -> str:
        """For people."""
        return "TF-IDF of its words"

    def encode(self, column: Any, rows: int) -> sp.csr_array:
        """TF-IDF."""
        shape = (rows, len(self.words))
        if column is None:
            return sp.csr_array(shape, dtype=np.float32)
        at, entries = _words(values.column_word_lists(column))
        counts = _counted(at, entries, self.words, shape)
        weighted = counts.astype(np.float64) @ sp.diags_array(np.asarray(self.idf, dtype=np.float64))
        lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return sp.csr_array(sp.diags_array(scale) @ weighted, dtype=np.float32)

    def state(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def category_texts(column: Any) -> Any:
    """Texts of a category; whole numbers without a decimal point."""
    return values.missing_words_as_empty(values.column_texts(column))


def _words(lists: Any) -> tuple[npt.NDArray[np.int64], Any]:
    rows, entries = values.entries_of_lists(lists)
    long = values.long_words(entries)
    return rows[long], entries.filter(pa.array(long))


def _frequent(entries: Any, most: int, rows: npt.NDArray[np.int64] | None = None) -> list[str]:
    """The most frequent entries that occur twice or more (in different rows, where these are given), sorted."""
    if not len(entries):
        return []
    encoded = entries.dictionary_encode()
    codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    if rows is not None:  # once per row: a sparse matrix merges what is repeated, faster than sorting does
        shape = (int(rows[-1]) + 1, len(encoded.dictionary))
        codes = sp.csr_array((np.ones(codes.size, np.int32), (rows, codes)), shape=shape).indices
    counts = np.bincount(codes, minlength=len(encoded.dictionary))
    names = np.array(encoded.dictionary.to_pylist(), dtype=object)
    order = np.lexsort((names.astype(str), -counts))[:most]
    return sorted(names[order[counts[order] >= 2]].tolist())


def _counted(rows: npt.NDArray[np.int64], entries: Any, vocabulary: tuple[str, ...], shape: tuple[int, int]) -> Any:
    """How often each entry of `vocabulary` occurs in each row."""
    positions = pc.index_in(entries, value_set=pa.array(vocabulary, pa.string())).fill_null(-1)
    where = np.asarray(positions.to_numpy(zero_copy_only=False), dtype=np.int64)
    kept = where >= 0
    ones = np.ones(int(kept.sum()), dtype=np.float32)
    return sp.csr_array((ones, (rows[kept], where[kept])), shape=shape)
