"""Which column is what, in a small TOML file: the options of the command line, for those with many columns.

source = "payer"
target = "payee"
label = "fraud"
numeric = ["income", "age"]
drop = ["comment"]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpcn.errors import ConfigError, Option, near_matches
from gpcn.files.input_files import read_toml

ROLE_OPTIONS = {
    "numeric": "number",
    "category": "category",
    "date": "date",
    "tags": "tags",
    "text": "text",
    "drop": "drop",
}
TEXTS = ("source", "target", "weight", "type", "id", "label", "unknown", "scale", "structure")
LISTS = ("features", "split", *ROLE_OPTIONS)


def read_columns_file(path: Path) -> dict[str, Any]:
    """The fields of `Columns` that the file names."""
    settings = read_toml(path, Option("columns"))
    fields: dict[str, Any] = {}
    roles: dict[str, str] = {}
    for name, value in settings.items():
        if name not in (*TEXTS, *LISTS, "undirected"):
            raise ConfigError(f"{path}: there is no {name!r}; {near_matches(name, (*TEXTS, *LISTS, 'undirected'))}")
        _check(path, name, value)
        if name in ROLE_OPTIONS:
            roles |= dict.fromkeys(value, ROLE_OPTIONS[name])
        elif name in LISTS:
            fields["splits" if name == "split" else name] = tuple(value)
        else:
            fields[name] = value
    return fields | {"roles": roles}


def _check(path: Path, name: str, value: Any) -> None:
    if name == "undirected":
        fine, expected = isinstance(value, bool), "true or false"
    elif name in TEXTS:
        fine, expected = isinstance(value, str), "a text"
    else:
        fine = isinstance(value, list) and all(isinstance(item, str) for item in value)
        expected = 'a list of column names such as ["age", "income"]'
    if not fine:
        raise ConfigError(f"{path}: {name} is {value!r}; expected {expected}")
