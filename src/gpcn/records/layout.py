"""Layout of the folders that gpcn writes: how their files are called, and what a folder is.

run/                config.json, environment.json, node_ids.npz, result.json (the summary), and per split
    split-00/       model.json, predictions.npz, epochs.csv, result.json; in parts also part-0000/predictions.parquet
comparison/         a run per model, graph.npz where the graph came from memory
study/              study.json, asked.json, study.db
auto/               auto.json, members/0007-loss/ and refitted/0007-loss/ (runs), candidates/owner.json and
                    candidates/0007/candidate.json
parts/              manifest.json, part-0000/part.json
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, TypeAlias

from gpcn.core.errors import ConfigError, Option

RUN, ENVIRONMENT, NODE_IDS, RESULT = "config.json", "environment.json", "node_ids.npz", "result.json"
MODEL, PREDICTIONS, EPOCHS, PART_PREDICTIONS = "model.json", "predictions.npz", "epochs.csv", "predictions.parquet"
GRAPH = "graph.npz"
STUDY, REQUEST, STUDY_STORAGE = "study.json", "asked.json", "study.db"
CHOICE, CANDIDATE, OWNER = "auto.json", "candidate.json", "owner.json"
MEMBERS, REFITTED, CANDIDATES = "members", "refitted", "candidates"
MANIFEST, PART = "manifest.json", "part.json"
FILES = (
    *(RUN, ENVIRONMENT, NODE_IDS, RESULT, MODEL, PREDICTIONS, EPOCHS, PART_PREDICTIONS, GRAPH),
    *(STUDY, REQUEST, STUDY_STORAGE, CHOICE, CANDIDATE, OWNER, MANIFEST, PART),
)

Kind: TypeAlias = Literal["run", "comparison", "study", "auto", "parts"]
WRITERS = {"run": "a run", "study": "a study", "auto": "what auto chose"}
MARKS: dict[str, Kind] = {CHOICE: "auto", STUDY: "study", RUN: "run"}
"""The file that says what a folder is."""


def kind_of(folder: Path) -> Kind | None:
    """Return what `folder` is; `None` where gpcn has not written it."""
    for file, kind in MARKS.items():
        if (folder / file).is_file():
            return kind
    if (folder / MANIFEST).is_file() and any(folder.glob("part-*")):
        return "parts"
    return "comparison" if runs_in(folder) else None


def runs_in(folder: Path) -> list[Path]:
    """Return the runs that are right inside `folder`, by name."""
    return sorted(inner for inner in folder.iterdir() if (inner / RUN).is_file()) if folder.is_dir() else []


def refuse_folder_of_other_kind(folder: Path, allowed: Kind | None = None) -> None:
    """Refuse a folder that is something else than what is `allowed`."""
    for file, kind in MARKS.items():
        if kind != allowed and (folder / file).exists():
            raise ConfigError(f"{folder} holds {WRITERS[kind]}; choose another {Option('out')}")


def split_name(number: int) -> str:
    """Return what the folder of split `number` is called."""
    return f"split-{number:02d}"


def is_split_name(name: str) -> bool:
    """Whether the folder of a split may be called `name`."""
    return re.fullmatch(r"split-\d{2,}", name) is not None


def finished_splits(run: Path) -> dict[int, Path]:
    """Return the folders of the splits of a run that have a result, by number."""
    folders = {file.parent.name: file.parent for file in run.glob(f"split-*/{RESULT}")}
    numbers = {int(name.removeprefix("split-")): folder for name, folder in folders.items() if is_split_name(name)}
    return dict(sorted(numbers.items()))


def part_name(part: int) -> str:
    """Return what the folder of a part is called, of a graph or of a split that workers trained."""
    return f"part-{part:04d}"
