"""Measured rows and their CSV files: one per dataset, method and recipe, and one per split beside it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpcn.core.atomic import replacing
from gpcn.core.errors import DataError, Option

REPRODUCTION = (
    "dataset",
    "method",
    "recipe",
    "mean",
    "std",
    "paper_mean",
    "paper_std",
    "val_mean",
    "chosen",
    "splits",
    "seeds",
    "epochs",
    "seconds",
    "commit",
    "settings",
    "status",
)
SPLITS = ("dataset", "method", "recipe", "split", "seed", "test", "val", "epochs", "best_epoch", "seconds", "commit")
ABLATION = ("dataset", "method", "setting", "value", "mean", "std", "splits", "epochs", "seconds", "commit", "status")
Row = dict[str, Any]


def summarize(answers: Sequence[Mapping[str, Any]]) -> Row:
    """What a row says of its splits; the deviation is over splits, as in the paper."""
    done = [answer for answer in answers if "failed" not in answer]
    tests = [answer["test"] for answer in done if answer["test"] is not None]
    vals = [answer["val"] for answer in done if answer["val"] is not None]
    return {
        "mean": round(float(np.mean(tests)), 3) if tests else None,
        "std": round(float(np.std(tests)), 3) if tests else None,
        "val_mean": round(float(np.mean(vals)), 3) if vals else None,
        "epochs": round(float(np.mean([answer["epochs"] for answer in done])), 1) if done else None,
        "seconds": round(sum(answer["seconds"] for answer in answers), 1),
        "commit": commits_of_answers(answers),
        "status": failure_status(answers),
    }


def commits_of_answers(answers: Sequence[Mapping[str, Any]]) -> str:
    """The commits that computed `answers`, as one cell."""
    return " ".join(sorted({answer["commit"] for answer in answers}))


def failure_status(answers: Sequence[Mapping[str, Any]]) -> str:
    """How many of `answers` failed and why the first did; empty where none did."""
    failed = [answer["failed"] for answer in answers if "failed" in answer]
    return f"failed on {len(failed)} of {len(answers)} splits: {failed[0]}" if failed else ""


def write(path: Path, columns: Sequence[str], rows: Iterable[Row], key: Sequence[str]) -> list[Row]:
    """Put `rows` into the table at `path`: those with the same `key` are replaced, all others stay."""
    table = {_key(row, key): row for row in read(path, columns)}
    table |= {_key(row, key): {name: result_text(row.get(name)) for name in columns} for row in rows}
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.values())
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())
    return list(table.values())


def read(path: Path, columns: Sequence[str]) -> list[Row]:
    """The table at `path`, as text; none where there is no file."""
    if not path.exists():
        return []
    try:
        reader = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
        rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}; delete it, or choose another {Option('results')}") from error
    if tuple(reader.fieldnames or ()) != tuple(columns):
        raise DataError(
            f"{path} has columns {', '.join(reader.fieldnames or ['none'])}; expected {', '.join(columns)}; "
            f"move it away, or choose another {Option('results')}"
        )
    return rows


def _key(row: Row, key: Sequence[str]) -> tuple[str, ...]:
    return tuple(result_text(row[name]) for name in key)


def result_text(value: Any) -> str:
    """A value as the tables of results have it."""
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) and value == int(value) else str(value)
