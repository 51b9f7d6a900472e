"""A small graph, a portfolio of a few quick entries, and a clock that goes only when it is told to."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpcn import Graph, synthesize
from gpcn.search.auto import auto
from gpcn.search.auto.portfolio import Entry
from gpcn.search.budget import Budget
from gpcn.search.executors import serial_executor
from gpcn.training.round_trainer import RoundTrainer
from gpcn.training.trainer import Trainer

QUICK = {"epochs": 40, "patience": 20}
PORTFOLIO = (
    Entry("majority", "label-propagation", {"alpha": 0.0, "layers": 1}),
    Entry("logistic", "logistic", {"lr": 0.05, **QUICK}),
    Entry("link", "link", {"lr": 0.05, **QUICK}),
    Entry("multi-gpcn", "multi-gpcn", {"hidden": 16, "operators": "out-row", **QUICK}),
    Entry("gpcn", "gpcn", {"hidden": 16, **QUICK}),
)
SHORTEST = tuple(
    Entry(entry.title, entry.model, {**entry.settings, "epochs": 12} if "epochs" in entry.settings else entry.settings)
    for entry in PORTFOLIO[:3]
)


@pytest.fixture(scope="session")
def ring() -> Graph:
    """Neighbours disagree; enough validation nodes to judge by."""
    return synthesize(nodes=1040, classes=3, degree=6, homophily=0.05, mixing="ring", splits=2, seed=3)


@pytest.fixture(scope="session")
def tiny() -> Graph:
    """Few labels."""
    return synthesize(nodes=120, classes=3, degree=6, homophily=0.05, mixing="ring", splits=1, seed=3, signal=2.0)


def even(model: str) -> float:
    """Seconds an epoch: much for what has only one, so that a search makes few evaluations of it."""
    return 0.5 if model == "label-propagation" else 0.03


class Clock:
    """Virtual time: an epoch takes `costs` seconds of it, by model, and nothing else takes any."""

    def __init__(self, costs: Callable[[str], float]) -> None:
        self.now, self.costs = 1000.0, costs

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def virtual(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], float]], Clock]:
    def start(costs: Callable[[str], float]) -> Clock:
        clock = Clock(costs)
        for kind in (Trainer, RoundTrainer):
            step = kind.step

            def slower(self: Any, step: Any = step) -> None:
                clock.now += clock.costs(self.config.model)
                step(self)

            monkeypatch.setattr(kind, "step", slower)
        monkeypatch.setattr(time, "monotonic", clock)
        return clock

    return start


@pytest.fixture(scope="session")
def chosen(ring: Graph, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], list[str]]:
    """A whole call, in virtual time so that it is the same on every machine."""
    folder, said = tmp_path_factory.mktemp("auto"), []
    patch = pytest.MonkeyPatch()
    clock = Clock(even)
    for kind in (Trainer, RoundTrainer):
        step = kind.step

        def slower(self: Any, step: Any = step) -> None:
            clock.now += clock.costs(self.config.model)
            step(self)

        patch.setattr(kind, "step", slower)
    patch.setattr(time, "monotonic", clock)
    try:
        options: dict[str, Any] = {"splits": [0], "portfolio": PORTFOLIO, "log": said.append}
        result = auto(ring, serial_executor(ring), out=folder, budget=Budget(seconds=8), **options)
    finally:
        patch.undo()
    return folder, result, said
