"""Which column is what, in a small TOML file: the options of the command line, for those with many columns.

source = "payer"
target = "payee"
label = "fraud"
numeric = ["income", "age"]
drop = ["comment"]
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpcn.core.errors import ConfigError, Option, near_matches
from gpcn.core.input_files import read_toml
from gpcn.data.tables.columns import Columns
from gpcn.preparation.roles import Role
from gpcn.records.reading import decode

ROLE_OPTIONS: dict[str, Role] = {
    "numeric": "number",
    "category": "category",
    "date": "date",
    "tags": "tags",
    "text": "text",
    "drop": "drop",
}
TEXTS = ("source", "target", "weight", "type", "id", "label", "unknown", "scale", "structure")
LISTS = ("features", "split", *ROLE_OPTIONS)


class StatedColumns(Struct, frozen=True, kw_only=True):
    """What somebody says of columns, by the names of the options; `None` where nothing is said."""

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    type: str | None = None
    id: str | None = None
    label: str | None = None
    unknown: str | None = None
    scale: str | None = None
    structure: str | None = None
    features: tuple[str, ...] | None = None
    split: tuple[str, ...] | None = None
    numeric: tuple[str, ...] | None = None
    category: tuple[str, ...] | None = None
    date: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    text: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None
    undirected: bool = False

    def over(self, columns: Columns) -> Columns:
        """Return `columns` but for what is stated here."""
        stated: dict[str, Any] = {name: getattr(self, name) for name in (*TEXTS, "features")}
        stated["splits"], roles = self.split, dict(columns.roles)
        for option, role in ROLE_OPTIONS.items():
            roles |= dict.fromkeys(getattr(self, option) or (), role)
        stated = {name: value for name, value in stated.items() if value is not None}
        return replace(columns, **stated, roles=roles, undirected=self.undirected or columns.undirected)


def read_columns_file(path: Path) -> Columns:
    """Return what the file says of columns."""
    settings = read_toml(path, Option("columns"))
    for name in settings:
        if name not in StatedColumns.__struct_fields__:
            raise ConfigError(f"{path}: there is no {name!r}; {near_matches(name, StatedColumns.__struct_fields__)}")
    try:
        return decode(settings, StatedColumns).over(Columns())
    except ValueError as error:
        raise ConfigError(f"{path}: {str(error).removesuffix(' or null')}") from error
