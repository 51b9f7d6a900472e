"""Candidates and what is kept of them on disk: everything that was ever evaluated can become the result.

    candidates/0007/candidate.json              configuration, and where it came from
    candidates/0007/split-00.json + tensors     what it predicted there, by rule; scores of all kinds follow from that
    candidates/0007/state-split-00.json + ...   models by rule, and what a paused training goes on from

An evaluation writes its state first and its predictions last, each whole or not at all, so a kill at any moment leaves
what was there before or what is there now.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from msgspec import Struct
from torch import Tensor

from gpcn.core.atomic import add_folder
from gpcn.core.errors import CheckpointError, GpcnError
from gpcn.graph import Graph
from gpcn.records import layout
from gpcn.records.sealed import read_record, write_sealed
from gpcn.runs.records import ConfigRecord
from gpcn.search.auto.holdouts import Holdout
from gpcn.tasks.metrics import oriented_score
from gpcn.training import checkpoint
from gpcn.training.config import TrainConfig
from gpcn.training.cross_fitting import ChosenEpoch
from gpcn.training.loop import RULES
from gpcn.training.training_facts import TrainingFacts

Array = npt.NDArray[np.float32]


class CandidateRecord(Struct, frozen=True):
    """`candidate.json`: a configuration, where it came from, and why it could not be trained."""

    config: ConfigRecord
    title: str
    origin: str
    failed: str | None


@dataclass(frozen=True)
class Judgement:
    """What an evaluation in one holdout left: judged predictions by rule, and facts about the training."""

    predictions: dict[str, Array]
    epochs: int
    seconds: float
    finished: bool
    stage: int
    best_epochs: dict[str, list[int]]


@dataclass(eq=False)
class Candidate:
    """A configuration and its judgements by the name of the holdout."""

    number: int
    config: TrainConfig
    title: str
    origin: str
    judgements: dict[str, Judgement] = field(default_factory=dict)
    failed: str | None = None

    def gain(self, graph: Graph, holdouts: tuple[Holdout, ...], rule: str) -> float | None:
        """The mean gain over `holdouts` under `rule`; `None` where it was not judged in all of them."""
        gains = []
        for holdout in holdouts:
            judgement = self.judgements.get(holdout.name)
            if judgement is None or rule not in judgement.predictions:
                return None
            value = holdout.score(graph, judgement.predictions[rule])
            if value is not None:
                gains.append(oriented_score(graph.metric, value))
        return float(np.mean(gains)) if gains else None

    def best(self, graph: Graph, holdouts: tuple[Holdout, ...]) -> tuple[float, str] | None:
        """The gain under the better rule, and that rule."""
        scored = [(value, rule) for rule in RULES if (value := self.gain(graph, holdouts, rule)) is not None]
        return max(scored, key=lambda pair: pair[0]) if scored else None


class Store:
    """The candidates of one graph, in a folder."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key

    def path(self, number: int) -> Path:
        """Where a candidate is kept."""
        return self.folder / f"{number:04d}"

    def add(self, candidate: Candidate) -> None:
        """Keep a candidate, or what has become of it."""
        record = CandidateRecord(ConfigRecord.of(candidate.config), candidate.title, candidate.origin, candidate.failed)
        path = self.path(candidate.number)
        add_folder(path)
        write_sealed(path / layout.CANDIDATE, record, indent=1)

    def read(self) -> list[Candidate]:
        """All of them, with their judgements."""
        return [self._read(path) for path in sorted(self.folder.glob("[0-9]*")) if (path / layout.CANDIDATE).is_file()]

    def _read(self, path: Path) -> Candidate:
        file = path / layout.CANDIDATE
        advice = f"delete {path} to try that configuration again"
        record = read_record(file, CandidateRecord, advice)
        try:
            config = record.config.settled()
        except (ValueError, TypeError, OverflowError, RecursionError, GpcnError) as error:
            raise CheckpointError(f"{file} is damaged: {error}; {advice}") from error
        candidate = Candidate(int(path.name), config, record.title, record.origin, failed=record.failed)
        for written in sorted(path.glob("*.json")):
            if written.stem != "candidate" and not written.stem.startswith("state-"):
                candidate.judgements[written.stem] = self.judgement(candidate.number, written.stem)
        for leftover in path.glob(".*.tmp"):
            leftover.unlink(missing_ok=True)
        return candidate

    def judgement(self, number: int, holdout: str) -> Judgement:
        """What was kept of a candidate in the holdout of this name."""
        tensors, metadata = self._load(number, holdout)
        try:
            predictions = {rule: tensors[f"judged.{rule}"].numpy() for rule in metadata["rules"]}
            facts = {name: metadata[name] for name in ("epochs", "seconds", "finished", "stage", "best_epochs")}
            return Judgement(predictions, **facts)
        except (KeyError, TypeError) as error:
            raise self._damaged(number, holdout) from error

    def predictions(self, number: int, holdout: str, rule: str) -> tuple[Array, TrainingFacts]:
        """Probabilities of all nodes in a split's holdout, and what the training was."""
        tensors, metadata = self._load(number, holdout)
        try:
            return tensors[f"all.{rule}"].numpy(), TrainingFacts(**metadata["facts"][rule])
        except (KeyError, TypeError) as error:
            raise self._damaged(number, holdout) from error

    def _damaged(self, number: int, holdout: str) -> CheckpointError:
        path = self.path(number)
        return CheckpointError(f"{path / holdout}.json is damaged; delete {path} to try that again")

    def _load(self, number: int, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        loaded = checkpoint.load(self.path(number), name, self.key)
        if loaded is None:
            raise CheckpointError(f"{self.path(number)} has no {name}.json; run the same command to go on")
        return loaded

    def weights(self, number: int, holdout: str, rule: str) -> tuple[dict[str, Tensor], list[list[float]]]:
        """The model that `rule` chose, and a row per epoch of its training."""
        tensors, metadata = self._load(number, f"state-{holdout}")
        prefix = f"model.{rule}."
        weights = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        return weights, metadata["history"]

    def paused(self, number: int, holdout: str) -> tuple[dict[str, Tensor], str] | None:
        """What a paused training goes on from, where there is one."""
        loaded = checkpoint.load(self.path(number), f"state-{holdout}", self.key)
        if loaded is None or loaded[1].get("progress") is None:
            return None
        tensors = {
            name.removeprefix("paused."): tensor for name, tensor in loaded[0].items() if name.startswith("paused.")
        }
        return tensors, str(loaded[1]["progress"])

    def keep_state(
        self,
        number: int,
        holdout: str,
        chosen: dict[str, ChosenEpoch],
        paused: tuple[dict[str, Tensor], str] | None,
        history: list[tuple[float, ...]],
    ) -> None:
        """Models by rule, and what the training goes on from unless it has ended."""
        tensors = {
            f"model.{rule}.{name}": tensor for rule, choice in chosen.items() for name, tensor in choice.weights.items()
        }
        if paused is not None:
            tensors |= {f"paused.{name}": tensor for name, tensor in paused[0].items()}
        metadata = {"progress": None if paused is None else paused[1], "history": history}
        checkpoint.save(self.path(number), f"state-{holdout}", tensors, metadata, self.key)

    def keep_judgement(
        self,
        number: int,
        holdout: str,
        judged: dict[str, Array],
        everywhere: dict[str, Array],
        metadata: dict[str, Any],
    ) -> None:
        """Predictions of judged nodes, and where a split is the holdout of all nodes."""
        tensors = {
            f"{part}.{rule}": torch.from_numpy(np.ascontiguousarray(probabilities))
            for part, predictions in (("judged", judged), ("all", everywhere))
            for rule, probabilities in predictions.items()
        }
        checkpoint.save(self.path(number), holdout, tensors, {**metadata, "rules": list(judged)}, self.key)

    def has_state(self, number: int, holdout: str) -> bool:
        """Whether the models of an evaluation are there."""
        return (self.path(number) / f"state-{holdout}.json").is_file()

    def forget_states(self, kept: set[int]) -> None:
        """Take away the models of all candidates but those; their predictions stay."""
        for path in self.folder.glob("[0-9]*"):
            if int(path.name) not in kept:
                for file in path.glob("state-*.json"):
                    checkpoint.remove(path, file.stem)
