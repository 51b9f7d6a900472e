"""A number and a set of labels, as sketches: what is asked next needs nothing but a `Task` and a metric."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import gpcn
from gpcn import Graph, TrainConfig, folds, random_splits, synthesize
from gpcn.report import write
from gpcn.tasks import metrics, task
from gpcn.tasks.metrics import Metric, register_metric
from gpcn.tasks.target import Target
from gpcn.tasks.task import PartScores, Task, register_task


class Moments(PartScores, frozen=True, kw_only=True):
    nodes: int
    mean: list[float]
    square: float

    @property
    def size(self) -> int:
        return self.nodes


class Sketch(Task):
    """What a number and a set of labels have in common: predictions are compared with `truth` column by column."""

    scores: ClassVar[type[PartScores]] = Moments

    @classmethod
    def of(cls, names: Sequence[str], positive: int | None = None) -> Self:
        return cls(tuple(names))  # type: ignore[call-arg]

    @property
    def num_outputs(self) -> int:
        return len(self.names)

    def check_can_learn(self, truth: np.ndarray, name: str) -> None:
        assert truth.size

    def describe(self, truth: np.ndarray) -> str:
        return f"{len(truth)} node(s)"

    def unknown(self, nodes: int) -> np.ndarray:
        return np.full((nodes, len(self.names)), np.nan, np.float32)

    def in_words(self, truth: np.ndarray) -> list[Any]:
        return self.answers(truth)

    def evaluate(self, prediction: np.ndarray, truth: np.ndarray, metric: str) -> Moments:
        mean, square = truth.mean(0).astype(float).tolist(), float((truth**2).mean())
        return Moments(score=self.score(prediction, truth, metric), nodes=len(truth), mean=mean, square=square)

    def baseline(self, truth: np.ndarray) -> np.ndarray:
        return truth.mean(0)

    def baseline_score(self, train: Any, part: Any, metric: str) -> float | None:
        known, mean = np.array(train.mean), np.array(part.mean)
        return float(np.sqrt(part.square - (2 * known * mean - known**2).mean()))

    def log_likelihood(self, prediction: np.ndarray, truth: np.ndarray) -> np.ndarray:
        return -((prediction - truth) ** 2).mean(1)


@dataclass(frozen=True)
class Number(Sketch):
    names: tuple[str, ...] = ()
    name: ClassVar[str] = "number"
    plain_metric: ClassVar[str] = "error"

    @classmethod
    def read(cls, labels: object, nodes: int, names: Sequence[str] | None) -> Target:
        values = np.asarray(labels, dtype=np.float32).reshape(nodes, 1)
        known = np.isfinite(values[:, 0])
        strata = np.full(nodes, -1)
        if known.any():
            strata[known] = np.searchsorted(np.quantile(values[known, 0], [0.25, 0.5, 0.75]), values[known, 0])
        return Target(values=values, mask=known, names=tuple(names or ("value",)), strata=strata)

    def losses(self, outputs: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
        return ((outputs - truth) ** 2).mean(1)

    def activation(self, outputs: torch.Tensor) -> torch.Tensor:
        return outputs

    def answers(self, prediction: np.ndarray) -> list[float]:
        return prediction[:, 0].tolist()


@dataclass(frozen=True)
class LabelSet(Sketch):
    names: tuple[str, ...] = ()
    name: ClassVar[str] = "label_set"
    plain_metric: ClassVar[str] = "error"

    @classmethod
    def read(cls, labels: object, nodes: int, names: Sequence[str] | None) -> Target:
        values = np.asarray(labels, dtype=np.float32)
        known = np.isfinite(values).all(1)
        strata = np.where(known, np.nan_to_num(values).argmax(1), -1)
        return Target(values=values, mask=known, names=tuple(names or ()), strata=strata)

    def losses(self, outputs: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
        return F.binary_cross_entropy_with_logits(outputs, truth, reduction="none").mean(1)

    def activation(self, outputs: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(outputs)

    def answers(self, prediction: np.ndarray) -> list[str]:
        return [
            " ".join(name for name, share in zip(self.names, row, strict=True) if share > 0.5) for row in prediction
        ]


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(metrics, "_METRICS", dict(metrics._METRICS))
    monkeypatch.setattr(task, "_TASKS", dict(task._TASKS))
    register_task(Number)
    register_task(LabelSet)
    register_metric(
        Metric(
            name="error",
            title="the root of the mean squared error",
            serves=("number", "label_set"),
            from_arrays=lambda prediction, truth, asked: float(np.sqrt(((prediction - truth) ** 2).mean())),
            from_tensors=lambda outputs, truth, asked: ((asked.activation(outputs) - truth) ** 2).mean().sqrt(),
            greater_is_better=False,
            percent=False,
        )
    )
    yield


def graph_that_asks_for(name: str) -> Graph:
    """Nodes of which the first feature tells the answer; some answers are unknown."""
    drawn = synthesize(nodes=120, classes=4, features=6, splits=2, unlabelled=0.1, seed=0)
    features = np.array(drawn.features)
    features[:, 0] = np.where(drawn.labels < 0, 1.5, drawn.labels) + 0.1 * features[:, 0]
    labels = np.where(drawn.labels < 0, np.nan, 1.5 * drawn.labels)
    if name == "label_set":
        labels = np.where(drawn.labels[:, None] < 0, np.nan, drawn.labels[:, None] >= np.arange(3))
    return Graph(
        adjacency=drawn.adjacency,
        features=features,
        labels=labels,
        label_names=("revenue",) if name == "number" else ("any", "more", "most"),
        splits=drawn.splits,
        task_name=name,
        metric="error",
    )


@pytest.mark.parametrize("name", ["number", "label_set"])
def test_what_is_asked_next_goes_through_every_door(name: str, tmp_path: Path) -> None:
    graph = graph_that_asks_for(name)
    settings = {"epochs": 60, "hidden": 16, "lr": 0.05}
    gpcn.train(graph, TrainConfig.of("gpcn", **settings), out=tmp_path / "run")
    rows = gpcn.compare(graph, ["mlp", "gpcn-link"], settings=settings, out=tmp_path / "compared").evaluate().models
    assert {row.model: row.beats_majority for row in rows}["mlp"]

    opened = gpcn.open_run(tmp_path / "compared")
    opened.predict().sorted().save(tmp_path / "predictions.csv")
    header = (tmp_path / "predictions.csv").read_text().splitlines()[0]
    assert header == ",".join(f'"{column}"' for column in ("node", "predicted", *(graph.label_names or ())))
    moved = opened.predict(graph)
    assert moved.drift is not None
    write([tmp_path / "compared"], tmp_path / "report.html")

    portfolio = [{"title": model, "model": model, "settings": {"epochs": 12}} for model in ("trees", "mlp")]
    (tmp_path / "portfolio.json").write_text(json.dumps(portfolio))
    chosen = gpcn.auto(graph, "4s", out=tmp_path / "auto", portfolio=tmp_path / "portfolio.json", splits=[0])
    assert set(chosen.models) == {"mlp"}

    for drawn in (random_splits(graph, count=2), folds(graph, count=3)):
        for split in drawn.splits:
            assert graph.target.mask[split.train].all()
