"""Options of the commands that train, and how they are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.errors import ConfigError
from gpcn.graph import Graph
from gpcn.metric_choice import default_metric
from gpcn.splits import random_splits
from gpcn.types import METRICS

Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A hyperparameter or training setting; repeat it."),
]
ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE.toml", help="Settings from a TOML file.")]
SplitNumbers = Annotated[
    str | None, typer.Option("--splits", metavar="0-9", help="Which splits: 0-9, 0,2,5 (default: all).")
]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, help="Splits at once (default: as many as cores allow).")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Decides every random draw (default: 0).")]
RandomSplits = Annotated[
    int, typer.Option("--random-splits", metavar="N", help="N random 50/25/25 splits, instead of those the graph has.")
]
MetricName = Annotated[
    str | None,
    typer.Option("--metric", metavar="NAME", help=f"What is measured: {', '.join(METRICS)} (default: the graph's)."),
]


MOST_SPLITS = 100_000


def split_at_random(graph: Graph, told: dict[str, Any], count: int, seed: int) -> Graph:
    """`graph` with `count` random splits where asked for, and noted in `told`, so that a run can make them again."""
    if not count:
        return graph
    told["random_splits"] = {"count": count, "seed": seed}
    return random_splits(graph, count=count, seed=seed)


def judge_by(graph: Graph, origin: dict[str, Any], metric: str | None) -> Graph:
    """`graph` with the metric asked for, noted in `origin`, so that a run's graph is judged by it again."""
    if metric is None:
        return graph
    name = next((name for name in METRICS if name == metric), None)
    if name is None:
        raise ConfigError(f"--metric is {metric!r}; expected one of {', '.join(METRICS)}")
    origin["metric"] = name
    return graph.judged_by(name)


def metric_note(graph: Graph) -> str | None:
    """Why the graph is judged by another metric than accuracy, where a rule and nobody else decided that."""
    _, note = default_metric(graph.labels, graph.label_names)
    return note if note in graph.notes else None


def read_settings(given: list[str] | None, option: str = "--set") -> dict[str, Any]:
    """`KEY=VALUE` texts as a mapping; values stay text and are checked by whoever knows their type."""
    found: dict[str, Any] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ConfigError(f"{option} {text!r} is not of the form KEY=VALUE, such as hidden=512")
        if not name.strip().isidentifier():
            raise ConfigError(f"{option} {text!r} does not begin with a setting's name, such as hidden=512")
        found[name.strip()] = value.strip()
    return found


def read_splits(text: str | None) -> list[int] | None:
    """`0-9`, `3`, `0,2,5-7` as numbers."""
    if text is None:
        return None
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if match is None or (match[2] and int(match[2]) < int(match[1])):
            raise ConfigError(f"--splits {text!r} cannot be read; expected numbers and ranges such as 0-9 or 0,2,5")
        if int(match[2] or match[1]) > MOST_SPLITS:
            raise ConfigError(f"--splits {text!r} names more splits than any graph has; expected such as 0-9 or 0,2,5")
        numbers += range(int(match[1]), int(match[2] or match[1]) + 1)
    return numbers
