"""`Preparation`: what made the features of a graph from the columns of its tables, and makes them again from others."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from msgspec import Struct

from gpcn.core.errors import DataError
from gpcn.preparation import encoders, roles, values
from gpcn.preparation.encoders import Encoder
from gpcn.preparation.misfits import MisfitError
from gpcn.preparation.roles import AS_SAID, LEFT_OUT, Guess, Role
from gpcn.preparation.scalar_encoders import Dates, Scale
from gpcn.preparation.text_encoders import Levels

FORMAT = 1
COUNTS_FROM = 16  # so many columns of small counts are a bag of words and stay as they are; fewer are numbers
BAG_FROM = 32  # so many columns of 0 and 1, or of counts, are a bag of words: no column of it is left out
Block: TypeAlias = npt.NDArray[np.float32] | sp.csr_array


class ColumnAccount(Struct, frozen=True):
    """What a column is, how it is encoded in how many features, its share of missing values, and why."""

    column: str
    role: str
    encoded: str
    features: int
    missing: float
    reason: str


@dataclass(frozen=True)
class PreparedColumn:
    """A column: its role, why, how it is encoded (not at all where it is left out), and its share of missing values."""

    name: str
    role: Role
    reason: str
    missing: float
    encoder: Encoder | None

    @property
    def declared(self) -> bool:
        """Whether the user named the role."""
        return self.reason == AS_SAID

    def describe(self) -> ColumnAccount:
        """Return a row for people and JSON."""
        how, width = (self.encoder.how, len(self.encoder.names)) if self.encoder else ("left out", 0)
        return ColumnAccount(self.name, self.role, how, width, round(self.missing, 4), self.reason)


class Preparation:
    """The columns of a table in order, and `reading`: which columns are ids, labels, ends of edges, and the like.

    As a field of a record it is what `to_json` gives.
    """

    def __init__(self, columns: tuple[PreparedColumn, ...], reading: Mapping[str, Any]) -> None:
        self.columns, self.reading = columns, reading

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Preparation) and json.dumps(self.to_json()) == json.dumps(other.to_json())

    def __hash__(self) -> int:
        return hash(tuple(self.feature_names))

    @classmethod
    def fit(
        cls,
        table: Mapping[str, Any],
        *,
        declared: Mapping[str, Role],
        scale: Scale = "robust",
        reading: Mapping[str, Any] | None = None,
    ) -> Preparation:
        """Guess or take the role of every column of `table` (Arrow columns by name) and fit its encoder."""
        guesses = {name: _guess(name, column, declared.get(name)) for name, column in table.items()}
        complete = {name for name in table if values.is_number_type(table[name].type) and not table[name].null_count}
        guesses = decide_bag_of_words(guesses, complete)
        columns = [_fitted(name, table[name], guess, scale) for name, guess in guesses.items()]
        return cls(tuple(columns), reading or {})

    @property
    def literal_columns(self) -> list[str]:
        """The columns whose cells are taken to the letter."""
        return [column.name for column in self.columns if column.role in roles.LITERAL]

    @property
    def feature_names(self) -> list[str]:
        """The names of all features, in order."""
        return [name for column in self.columns if column.encoder for name in column.encoder.names]

    def transform(self, table: Mapping[str, Any], rows: int) -> tuple[Block, list[str]]:
        """The features of `table`, `[rows, width]`, and what a reader should know about what did not fit."""
        notes: list[str] = []
        blocks: list[Block] = []
        for column in self.columns:
            if column.encoder is None:
                continue
            values_of = table.get(column.name)
            if values_of is None:
                notes.append(f"column {column.name!r} is not in this table; it counts as missing for all nodes")
            else:
                notes += _surprises(column, values_of)
            try:
                if isinstance(column.encoder, Dates) and values_of is not None:
                    column.encoder.refuse_strange_years(values_of, declared=column.declared)
                blocks.append(column.encoder.encode(values_of, rows))
            except MisfitError:
                raise
            except (TypeError, ValueError, KeyError) as error:
                raise DataError(f"column {column.name!r} cannot be read as {column.role}: {error}") from error
        familiar = {column.name for column in self.columns}
        strange = [name for name in table if name not in familiar]
        if strange:
            notes.append(
                f"{len(strange)} column(s) that were not there in training were left out, such as {strange[0]!r}"
            )
        return _joined(blocks, rows), notes

    def describe(self) -> list[ColumnAccount]:
        """A row per column."""
        return [column.describe() for column in self.columns]

    def to_json(self) -> dict[str, Any]:
        """Plain data, from which `from_json` makes the same preparation."""
        columns = [
            {
                "name": column.name,
                "role": column.role,
                "reason": column.reason,
                "missing": column.missing,
                "state": column.encoder.state() if column.encoder else None,
            }
            for column in self.columns
        ]
        return {"format": FORMAT, "columns": columns, "reading": dict(self.reading)}

    @classmethod
    def from_json(cls, payload: Any, where: str = "") -> Preparation:
        """From what `to_json` gave; anything else is refused in a sentence that names `where`."""
        try:
            if payload["format"] != FORMAT:
                raise ValueError(f"its format is {payload['format']!r}; this gpcn reads {FORMAT}")
            columns = tuple(_loaded(column) for column in payload["columns"])
            preparation = cls(columns, dict(payload["reading"]))
            if not all(isinstance(name, str) for name in preparation.feature_names):
                raise ValueError("a feature has no name")
            return preparation
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
            raise DataError(
                f"{where}{': ' if where else ''}how its columns were prepared cannot be read ({error}); make it again"
            ) from error


def decide_bag_of_words(guesses: Mapping[str, Guess], complete: Collection[str]) -> dict[str, Guess]:
    """Whether counts are a bag of words; `complete` are the columns of numbers none of which is missing."""
    settled = dict(guesses)
    counts = [name for name, guess in settled.items() if guess.role == "count"]
    if len(counts) < COUNTS_FROM:
        settled |= {name: replace(settled[name], role="number") for name in counts}
    if sum(guess.role in ("count", "boolean", "constant") for guess in settled.values()) >= BAG_FROM:
        settled |= {  # a word that nobody uses is still a word
            name: Guess("count") for name, guess in settled.items() if guess.role == "constant" and name in complete
        }
    return settled


def _guess(name: str, column: Any, role: Role | None) -> Guess:
    try:
        if role == "drop":
            return Guess("drop", AS_SAID)
        return roles.guess_role(name, column) if role is None else roles.declared_role(role, column, name)
    except MisfitError as error:
        error.column = name
        raise
    except DataError as error:
        raise DataError(f"column {name!r}: {error}") from error


def _fitted(name: str, column: Any, guess: Guess, scale: Scale) -> PreparedColumn:
    missing = _missing_share(column)
    if guess.role in LEFT_OUT:
        return PreparedColumn(name, guess.role, guess.reason, missing, None)
    encoder = encoders.fit_encoder(name, column, guess, scale)
    if not encoder.names:
        return PreparedColumn(name, guess.role, "no value occurs twice", missing, None)
    return PreparedColumn(name, guess.role, guess.reason, missing, encoder)


def _missing_share(column: Any) -> float:
    rows = max(1, len(column))
    if values.is_number_type(column.type):
        numbers = values.column_numbers(column)
        return float(np.isnan(numbers).sum()) / rows if numbers is not None else 0.0
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type) or values.is_date_type(column.type):
        return float(column.null_count) / rows
    empty = pc.equal(values.missing_words_as_empty(values.column_texts(column)), "")
    return float(pc.sum(empty).as_py() or 0) / rows


def _surprises(column: PreparedColumn, values_of: Any) -> list[str]:
    """Levels that the encoder does not know."""
    if not isinstance(column.encoder, Levels):
        return []
    strange = column.encoder.strangers(values_of)
    if not strange:
        return []
    return [
        f"column {column.name!r} has {len(strange)} level(s) that were not there in training, such as {strange[0]!r}"
    ]


def _joined(blocks: Sequence[Block], rows: int) -> Block:
    """Side by side; dense where all are."""
    if not blocks:
        return np.empty((rows, 0), dtype=np.float32)
    if not any(sp.issparse(block) for block in blocks):
        return np.concatenate(list(blocks), axis=1)
    runs = [list(run) for _, run in groupby(blocks, key=sp.issparse)]
    merged = [run[0] if sp.issparse(run[0]) and len(run) == 1 else _side_by_side(run) for run in runs]
    return sp.csr_array(sp.hstack([sp.csr_array(block) for block in merged], format="csr"))


def _side_by_side(run: list[Any]) -> Any:
    return sp.hstack(run, format="csr") if sp.issparse(run[0]) else np.concatenate(run, axis=1)


def _loaded(column: Mapping[str, Any]) -> PreparedColumn:
    name, role = column["name"], column["role"]
    if not isinstance(name, str) or role not in roles.ROLES:
        raise ValueError(f"column {name!r} has the role {role!r}")
    encoder = None if column["state"] is None else encoders.load_encoder(role, column["state"])
    return PreparedColumn(name, role, str(column["reason"]), float(column["missing"]), encoder)
