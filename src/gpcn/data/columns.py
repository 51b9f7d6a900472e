"""Which column of a users' table is what: as told, or by its usual name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpcn.errors import DataError

SOURCES = ("source", "src", "from", "source_id", "u")
TARGETS = ("target", "dst", "to", "target_id", "destination", "v")
IDS = ("id", "node_id", "node", "nodeid", "name")
LABELS = ("label", "class", "y", "category")
WEIGHTS = ("weight",)
SPLIT_NAME = re.compile(r"split([_-]?\d+)?", re.IGNORECASE)
UNNAMED = re.compile(r"Unnamed: \d+")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which column is what; `None` means: find it by its usual names.

    `undirected` mirrors every edge. `classes` gives the class names in the order of their numbers, where sorting
    them is not what is wanted.
    """

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    id: str | None = None
    label: str | None = None
    features: tuple[str, ...] | None = None
    splits: tuple[str, ...] | None = None
    undirected: bool = False
    classes: tuple[str, ...] | None = None

    def in_edges(self, names: Sequence[str], where: str) -> Columns:
        """The same with `source`, `target` and `weight` settled for a table with these columns."""
        source = _find(names, self.source, SOURCES, where, "--source")
        target = _find(names, self.target, TARGETS, where, "--target")
        if source is None and target is None and len(names) >= 2:
            source, target = names[0], names[1]
            if is_numeric(source) or is_numeric(target):
                raise DataError(
                    f"{where} has no header: its first line is {source!r}, {target!r}; add a line of column names, or "
                    "call the file .edges"
                )
        if source is not None and source == target:
            raise DataError(f"{where}: column {source!r} cannot hold both ends of an edge")
        if source is None or target is None:
            raise DataError(
                f"{where}: cannot tell which columns hold the ends of an edge among {_listed(names)}; "
                "name them with --source and --target"
            )
        return replace(self, source=source, target=target, weight=_find(names, self.weight, WEIGHTS, where, "--weight"))

    def in_nodes(self, names: Sequence[str], where: str) -> Columns:
        """The same with `id`, `label`, `splits` and `features` settled for a table with these columns."""
        identity = _find(names, self.id, IDS, where, "--id") or names[0]
        if self.label == identity:
            raise DataError(f"{where}: column {identity!r} holds the ids, so it cannot hold the labels; see --id")
        label = _find([name for name in names if name != identity], self.label, LABELS, where, "--label")
        splits = self.splits or tuple(name for name in names if SPLIT_NAME.fullmatch(name))
        features = self.features
        if features is None:
            taken = (identity, label, *splits)
            features = tuple(name for name in names if name not in taken and not UNNAMED.fullmatch(name))
        if len(set(features)) < len(features):
            raise DataError(f"{where}: --features names a column twice; expected each once")
        known = set(names)
        for name in (*splits, *features):
            if name not in known:
                raise DataError(f"{where} has no column {name!r}; it has {_listed(names)}")
        return replace(self, id=identity, label=label, splits=splits, features=features)


def _find(names: Sequence[str], given: str | None, usual: Sequence[str], where: str, option: str) -> str | None:
    if given is not None:
        if given not in names:
            raise DataError(f"{where} has no column {given!r} ({option}); it has {_listed(names)}")
        return given
    lowered = {name.lower(): name for name in reversed(names)}
    return next((name if name in names else lowered[name] for name in usual if name in lowered), None)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def is_numeric(text: str) -> bool:
    """Whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
