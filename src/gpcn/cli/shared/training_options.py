"""Options of the commands that train, and how they are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from gpcn.api.prepare import PreparedGraph, prepare
from gpcn.cli.shared.options import GraphOptions
from gpcn.cli.shared.output import print_notes
from gpcn.core.errors import ConfigError
from gpcn.data.split_plan import MOST_SPLITS, SplitPlan
from gpcn.graph import Graph
from gpcn.tasks.metric_choice import default_metric
from gpcn.tasks.metrics import metric_names

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
MetricName = Annotated[
    str | None,
    typer.Option(
        "--metric", metavar="NAME", help=f"What is measured: {', '.join(metric_names())} (default: the graph's)."
    ),
]


@dataclass(frozen=True)
class SplitOptions:
    """How to split a graph, instead of by the splits it has."""

    random_splits: Annotated[
        int,
        typer.Option("--random-splits", metavar="N", help="N random splits, instead of those the graph has."),
    ] = 0
    train_share: Annotated[
        float | None, typer.Option("--train", metavar="0.6", help="Share of the nodes that train (default: 0.5).")
    ] = None
    val_share: Annotated[
        float | None,
        typer.Option(
            "--val",
            metavar="0.2",
            help="Share that validates (default: 0.25); with --folds, of those outside the fold.",
        ),
    ] = None
    calibration_share: Annotated[
        float | None,
        typer.Option("--calibration", metavar="0.2", help="Share kept to calibrate, like --val (default: none)."),
    ] = None
    folds: Annotated[
        int,
        typer.Option("--folds", metavar="N", help="N splits in which every labelled node is tested exactly once."),
    ] = 0
    split_by: Annotated[
        str | None,
        typer.Option("--split-by", metavar="COLUMN", help="Nodes: a time; the earliest train, the latest test."),
    ] = None
    split_group: Annotated[
        str | None,
        typer.Option("--split-group", metavar="COLUMN", help="Nodes: groups that are never in two parts."),
    ] = None

    def plan(self, seed: int) -> SplitPlan | None:
        """What these options say, or nothing where the graph's splits are meant."""
        shares = {"train": self.train_share, "val": self.val_share, "calibration": self.calibration_share}
        stated = {name: share for name, share in shares.items() if share is not None}
        if not (self.random_splits or self.folds or self.split_by is not None or self.split_group is not None):
            if stated:
                raise ConfigError(
                    f"--{next(iter(stated))} is a share of new splits; add --random-splits 5, --folds 5, --split-by or "
                    "--split-group"
                )
            return None
        for option, column in (("--split-by", self.split_by), ("--split-group", self.split_group)):
            if column == "":
                raise ConfigError(f"{option} names no column; expected the name of one in the table of nodes")
        return SplitPlan(
            count=self.random_splits,
            folds=self.folds,
            seed=seed,
            by=self.split_by,
            group=self.split_group,
            **stated,
        )


@dataclass(frozen=True)
class TrainingGraph:
    """Reading, splits and metric of a graph to train on, and the seed of every draw."""

    reading: GraphOptions
    splitting: SplitOptions
    metric: MetricName = None
    seed: Seed = None

    def prepare(self, graph: str, *, quiet: bool, seed: int | None = None) -> PreparedGraph:
        """The graph that these options describe; decisions that were made on the way are printed."""
        drawn = (self.seed or 0) if seed is None else seed
        prepared = prepare(
            graph,
            self.splitting.plan(drawn),
            self.metric,
            drawn,
            nodes=self.reading.nodes,
            columns=self.reading.columns(),
            mirror=self.reading.mirror,
        )
        if not quiet:
            read = [note for note in table_reading_notes(prepared.graph) if note not in prepared.notes]
            print_notes([*read, *prepared.notes])
        return prepared


@dataclass(frozen=True)
class SplitWork:
    """The splits to train, how many at once, and the device."""

    splits: SplitNumbers = None
    jobs: Jobs = None
    device: Device = "auto"

    def numbers(self) -> list[int] | None:
        """The numbers of the splits; `None` for all."""
        return read_splits(self.splits)


def table_reading_notes(graph: Graph) -> list[str]:
    """What was decided when the graph's tables were read, besides its metric."""
    return [note for note in graph.notes if graph.preparation is not None and note != metric_choice_note(graph)]


def metric_choice_note(graph: Graph) -> str | None:
    """Why the graph is judged by another metric than accuracy, where a rule and nobody else decided that."""
    _, note = default_metric(graph.labels, graph.label_names)
    return note if note in graph.notes else None


def read_settings(given: list[str] | None, option: str = "--set") -> dict[str, Any]:
    """`KEY=VALUE` texts as a mapping; values stay text and are checked by whoever knows their type."""
    settings: dict[str, Any] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ConfigError(f"{option} {text!r} is not of the form KEY=VALUE, such as hidden=512")
        if not name.strip().isidentifier():
            raise ConfigError(f"{option} {text!r} does not begin with a setting's name, such as hidden=512")
        settings[name.strip()] = value.strip()
    return settings


def read_splits(text: str | None) -> list[int] | None:
    """`0-9`, `3`, `0,2,5-7` as numbers."""
    if text is None:
        return None
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})(?:-([0-9]{1,9}))?\s*", part)
        if match is None or (match[2] and int(match[2]) < int(match[1])):
            raise ConfigError(
                f"--splits {text[:60]!r} cannot be read; expected numbers and ranges such as 0-9 or 0,2,5"
            )
        if int(match[2] or match[1]) > MOST_SPLITS:
            raise ConfigError(f"--splits {text!r} names more splits than any graph has; expected such as 0-9 or 0,2,5")
        numbers += range(int(match[1]), int(match[2] or match[1]) + 1)
    return numbers
