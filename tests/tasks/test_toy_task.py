"""A task that only this test knows, an ordinal class: defined by a `Task` and a metric, through every public door."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from msgspec import structs

import gpcn
from gpcn import ConfigError, Graph, TrainConfig, synthesize
from gpcn.report import write
from gpcn.tasks import metrics, task
from gpcn.tasks.metrics import Metric, register_metric
from gpcn.tasks.target import Target
from gpcn.tasks.task import PartScores, Task, register_task


class RankScores(PartScores, frozen=True, kw_only=True):
    counts: tuple[int, ...]

    @property
    def size(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True)
class Ordinal(Task):
    """How high a node ranks: of `C` ranks, an output for each of the `C - 1` steps between them."""

    names: tuple[str, ...] = ()

    name: ClassVar[str] = "ordinal"
    plain_metric: ClassVar[str] = "rank_error"
    scores: ClassVar[type[PartScores]] = RankScores

    @classmethod
    def read(cls, labels: object, nodes: int, names: Sequence[str] | None) -> Target:
        ranks = np.asarray(labels)
        known = ranks >= 0
        return Target(values=ranks, mask=known, names=tuple(names or "abcd"), strata=np.where(known, ranks, -1))

    @classmethod
    def of(cls, names: Sequence[str], positive: int | None = None) -> Self:
        return cls(tuple(names))

    def unknown(self, nodes: int) -> np.ndarray:
        return np.full(nodes, -1)

    @property
    def num_outputs(self) -> int:
        return len(self.names) - 1

    def check_can_learn(self, truth: np.ndarray, name: str) -> None:
        assert truth.size

    def describe(self, truth: np.ndarray) -> str:
        return f"{truth.size} rank(s)"

    def _steps(self, truth: torch.Tensor) -> torch.Tensor:
        return (truth.unsqueeze(1) > torch.arange(self.num_outputs)).float()

    def losses(self, outputs: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
        return F.binary_cross_entropy_with_logits(outputs, self._steps(truth), reduction="none").mean(1)

    def activation(self, outputs: torch.Tensor) -> torch.Tensor:
        above = torch.sigmoid(outputs).cummin(-1).values
        ends = torch.ones_like(above[..., :1])
        return torch.cat([ends, above], -1) - torch.cat([above, torch.zeros_like(ends)], -1)

    def answers(self, prediction: np.ndarray) -> list[str]:
        return self.in_words((prediction.cumsum(1) >= 0.5).argmax(1))

    def in_words(self, truth: np.ndarray) -> list[str]:
        return [self.names[rank] for rank in truth]

    def columns(self, prediction: np.ndarray) -> dict[str, np.ndarray]:
        return {"rank": prediction @ np.arange(len(self.names))}

    def evaluate(self, prediction: np.ndarray, truth: np.ndarray, metric: str) -> RankScores:
        counts = np.bincount(truth, minlength=len(self.names))
        return RankScores(score=self.score(prediction, truth, metric), counts=tuple(counts.tolist()))

    def baseline(self, truth: np.ndarray) -> np.ndarray:
        counts = np.bincount(truth, minlength=len(self.names))
        return counts / counts.sum()

    def baseline_score(self, train: Any, part: Any, metric: str) -> float | None:
        ranks = np.repeat(np.arange(len(part.counts)), part.counts)
        shares = np.array(train.counts) / sum(train.counts)
        return self.score(np.tile(shares, (ranks.size, 1)), ranks, metric)

    def log_likelihood(self, prediction: np.ndarray, truth: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(prediction[np.arange(truth.size), truth], 1e-6))


def rank_error(prediction: np.ndarray, truth: np.ndarray, asked: Ordinal) -> float:
    return float(np.abs(prediction @ np.arange(prediction.shape[1]) - truth).mean())


def rank_error_of_tensors(outputs: torch.Tensor, truth: torch.Tensor, asked: Ordinal) -> torch.Tensor:
    likely = asked.activation(outputs)
    return (likely @ torch.arange(likely.shape[1], dtype=likely.dtype) - truth).abs().mean()


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(metrics, "_METRICS", dict(metrics._METRICS))
    monkeypatch.setattr(task, "_TASKS", dict(task._TASKS))
    register_task(Ordinal)
    register_metric(
        Metric(
            name="rank_error",
            title="the mean error in ranks",
            serves=("ordinal",),
            from_arrays=rank_error,
            from_tensors=rank_error_of_tensors,
            greater_is_better=False,
            percent=False,
        )
    )
    yield


def ranked_graph() -> Graph:
    """Nodes whose features say which rank they have, some of them unknown."""
    drawn = synthesize(nodes=120, classes=4, features=6, splits=2, unlabelled=0.1, seed=0)
    features = np.array(drawn.features)
    features[:, 0] = np.where(drawn.labels < 0, 1.5, drawn.labels) + 0.1 * features[:, 0]
    return Graph(
        adjacency=drawn.adjacency,
        features=features,
        labels=drawn.labels,
        label_names=("low", "middle", "high", "top"),
        splits=drawn.splits,
        task_name="ordinal",
        metric="rank_error",
        name="ranks",
    )


@pytest.mark.parametrize("model", ["gpcn", "gcn"], ids=["written out", "by autograd"])
def test_it_is_trained_and_its_epoch_chosen_by_its_metric(model: str, tmp_path: Path) -> None:
    graph = ranked_graph()
    config = TrainConfig.of(model, epochs=60, hidden=16, lr=0.05, select="metric")
    run = gpcn.train(graph, config, out=tmp_path / "run")
    result = run.evaluate()
    assert result.metric == "rank_error"
    baseline = graph.task.baseline_score(*(result.splits[0].metrics[part] for part in ("train", "test")), "rank_error")
    assert result.splits[0].test < baseline
    assert isinstance(result.splits[0].metrics["test"], RankScores)
    assert structs.asdict(run.evaluate(0)["val"])["score"] == result.splits[0].val


def test_it_is_compared_predicted_and_reported(tmp_path: Path) -> None:
    graph = ranked_graph()
    compared = gpcn.compare(
        graph, ["mlp", "gpcn"], settings={"epochs": 40, "hidden": 8, "lr": 0.05}, out=tmp_path / "c"
    )
    rows = {row.model: row for row in compared.evaluate().models}
    assert set(rows) == {"mlp", "gpcn", "majority"}
    assert rows["mlp"].beats_majority

    predicted = gpcn.open_run(tmp_path / "c").predict()
    assert set(predicted.predicted) <= set(graph.label_names or ())
    predicted.save(tmp_path / "p.csv")
    header, first, *_ = (tmp_path / "p.csv").read_text().splitlines()
    assert header == '"node","predicted","rank"'
    assert 0 <= float(first.split(",")[2]) <= 3

    page = tmp_path / "report.html"
    write([tmp_path / "c"], page)
    assert "rank error" in page.read_text()


def test_auto_chooses_a_model_for_it(tmp_path: Path) -> None:
    graph = ranked_graph()
    portfolio = [{"title": name, "model": name, "settings": {"epochs": 12}} for name in ("trees", "mlp", "sgc")]
    (tmp_path / "portfolio.json").write_text(json.dumps(portfolio))
    chosen = gpcn.auto(graph, "4s", out=tmp_path / "a", portfolio=tmp_path / "portfolio.json", splits=[0])
    assert set(chosen.models) <= {"mlp", "sgc"}
    assert chosen.evaluate().metric == "rank_error"
    assert len(chosen.predict().predicted) == graph.num_nodes


def test_models_that_are_for_classes_decline_it() -> None:
    with pytest.raises(ConfigError, match="trees cannot learn ordinal, which ranks asks for; use another model"):
        gpcn.train(ranked_graph(), TrainConfig.of("trees"))


def test_a_graph_is_judged_by_a_metric_of_its_task() -> None:
    with pytest.raises(gpcn.DataError, match="'accuracy' is unknown to ordinal; expected one of rank_error"):
        replace(ranked_graph(), metric="accuracy")
    with pytest.raises(ConfigError, match="there is no task called 'ordinl'; did you mean ordinal"):
        replace(ranked_graph(), task_name="ordinl")
