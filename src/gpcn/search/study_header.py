"""`StudyHeader`: what a study is a study of, in its folder's `study.json`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpcn.core.errors import CheckpointError
from gpcn.data.graph_record import GraphIdentity, GraphSource
from gpcn.graph import Graph
from gpcn.nn.zoo.hyperparameters import Value
from gpcn.records import layout
from gpcn.records.reading import Count, encode
from gpcn.records.sealed import read_record
from gpcn.search.schedule import Plan
from gpcn.search.space import Space


class StudyHeader(Struct, frozen=True, kw_only=True):
    """What a study is a study of.

    Args:
        graph: the graph it trains on.
        space: what it may try.
        plan: who goes on.
        seed: decides every random draw.
        first: points to begin with.
    """

    graph: GraphIdentity
    space: Space
    plan: Plan
    seed: Count
    first: tuple[dict[str, Value], ...]

    def __post_init__(self) -> None:
        choices = self.space.choices
        if not self.space.models or any(model not in choices for model in self.space.models):
            raise ValueError("its space is empty")
        if not all(values for model in self.space.models for values in choices[model].values()):
            raise ValueError("its space is empty")
        for point in (*(self.space.point(model, {}) for model in self.space.models), *self.first):
            try:
                self.space.config(point)
            except KeyError as error:
                raise ValueError(f"{error} is missing in a point") from error
        if not self.plan.rungs or not all(rung.splits for rung in self.plan.rungs):
            raise ValueError("its plan cannot be followed")

    @property
    def name(self) -> str:
        """The study's name in its storage, which may hold others of the same graph."""
        identity: dict[str, Any] = encode({name: getattr(self, name) for name in ("space", "plan", "seed", "first")})
        identity["graph"] = [self.graph.fingerprint, self.graph.metric]
        return "gpcn-" + hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def study_header(
    graph: Graph,
    space: Space,
    plan: Plan,
    *,
    seed: int,
    source: GraphSource | None,
    first: Sequence[dict[str, Value]] = (),
) -> StudyHeader:
    """Return what a study is a study of; `first` are points to begin with.

    Splits whose validation nodes have no score are refused: no configuration could be chosen by them.
    """
    for number in sorted({number for rung in plan.rungs for number in rung.splits}):
        if number < len(graph.splits):
            labels, whose = graph.target.values[graph.splits[number].val], f"the validation nodes of split {number}"
            graph.task.check_can_choose(labels, graph.metric, whose)
    identity = GraphIdentity(name=graph.name, fingerprint=graph.fingerprint(), metric=graph.metric, source=source)
    return StudyHeader(graph=identity, space=space, plan=plan, seed=seed, first=tuple(first))


def read_study_header(folder: Path) -> StudyHeader:
    """Return what the study in `folder` is a study of."""
    file = folder / layout.STUDY
    if not file.is_file():
        raise CheckpointError(
            f"{folder} is not a study: it has no {layout.STUDY}; expected a folder written by gpcn tune"
        )
    return read_record(file, StudyHeader, "it cannot be used")
