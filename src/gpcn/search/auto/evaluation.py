"""The unit of work of `auto`: one candidate in one holdout, up to an epoch and a moment."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gpcn.core.errors import TrainingError
from gpcn.exec.executor import Running, TimeOver
from gpcn.search.auto.candidates import Array, Store
from gpcn.search.auto.holdouts import Holdout
from gpcn.search.tasks import Evaluator, Outcome, SearchTask
from gpcn.training.config import TrainConfig


@dataclass(frozen=True)
class Evaluation(SearchTask):
    """Train a candidate in `holdout` for `epochs` and `seconds` at most, until `end`, and keep what it predicts.

    A training that is stopped by either keeps the best so far, and the next evaluation goes on from there.
    """

    number: int
    config: TrainConfig
    holdout: Holdout
    stage: int
    epochs: int
    seconds: float
    end: float
    store: Store
    short = True  # by its deadline
    needed: bool = False  # there is nothing else yet: two epochs are made, whatever time it is

    def perform(self, evaluator: Evaluator, running: Running) -> Outcome:
        """Facts about the training; predictions and models are on disk by then.

        `stopped` is the outcome where the time was over before there was anything to keep; `taken` are seconds from
        here to the end, with what comes before and after the epochs.
        """
        begun = time.monotonic()
        deadline = min(self.end, time.monotonic() + self.seconds)
        run = self._split if self.holdout.outer is not None else self._folds
        return {**run(evaluator, running.until, deadline), "taken": time.monotonic() - begun}

    def _split(self, evaluator: Evaluator, until: float, deadline: float) -> Outcome:
        from gpcn.training.cross_fitting import CrossFitting
        from gpcn.training.fit import fit
        from gpcn.training.loop import RULES
        from gpcn.training.observers import EndAt

        (split,) = self.holdout.splits
        observed = CrossFitting(self.holdout.number, self.store.paused(self.number, self.holdout.name))
        end = EndAt(self.epochs, min(deadline, until), least=2 if self.needed else 0)
        problem = evaluator.problem(self.config)
        training = fit(problem, self.config, split, self.holdout.number, [observed, end], rules=RULES)
        if not observed.usable:
            if until <= time.monotonic() < deadline:
                raise TimeOver
            return {"stopped": "the time was over before its second epoch"}
        state = None if training.finished else observed.state()
        chosen = observed.chosen()
        self.store.keep_state(self.number, self.holdout.name, chosen, state, training.history)
        if until <= time.monotonic() < deadline and not (training.finished or training.epoch >= self.epochs):
            raise TimeOver  # somebody else goes on from the state just kept
        metadata: dict[str, Any] = {
            "epochs": training.epoch,
            "seconds": round(observed.seconds, 3),
            "finished": training.finished,
            "stage": self.stage,
            "best_epochs": {rule: [choice.facts.best_epoch] for rule, choice in chosen.items()},
            "facts": {rule: asdict(choice.facts) for rule, choice in chosen.items()},
        }
        judged = {rule: choice.cross_fitted for rule, choice in chosen.items()}
        everywhere = {rule: choice.probabilities for rule, choice in chosen.items()}
        self.store.keep_judgement(self.number, self.holdout.name, judged, everywhere, metadata)
        return metadata

    def _folds(self, evaluator: Evaluator, until: float, deadline: float) -> Outcome:
        from gpcn.training.cross_fitting import CrossFitting
        from gpcn.training.fit import fit
        from gpcn.training.loop import RULES
        from gpcn.training.observers import EndAt

        problem = evaluator.problem(self.config)
        order = {int(node): position for position, node in enumerate(self.holdout.nodes)}
        judged: dict[str, Array] = {}
        epochs, seconds = 0, 0.0
        best_epochs: dict[str, list[int]] = {}
        for number, split in enumerate(self.holdout.splits):
            seed = self.holdout.number + number
            observed, end = CrossFitting(seed), EndAt(self.epochs, min(deadline, until))
            training = fit(problem, self.config, split, seed, [observed, end], rules=RULES)
            if not training.finished and time.monotonic() >= min(deadline, until):
                if until < deadline:
                    raise TimeOver
                return {"stopped": f"the time was over in fold {number + 1} of {len(self.holdout.splits)}"}
            chosen = observed.chosen()
            positions = [order[int(node)] for node in split.test]
            for rule, choice in chosen.items():
                shape = (self.holdout.nodes.size, choice.probabilities.shape[1])
                held = judged.setdefault(rule, np.full(shape, np.nan, dtype=np.float32))
                held[positions] = choice.probabilities[split.test]
                best_epochs.setdefault(rule, []).append(choice.facts.best_epoch)
            epochs, seconds = max(epochs, training.epoch), seconds + observed.seconds
        judged = {rule: held for rule, held in judged.items() if not np.isnan(held).any()}
        if not judged:
            raise TrainingError("no rule could choose an epoch in all folds")
        metadata: dict[str, Any] = {
            "epochs": epochs,
            "seconds": round(seconds, 3),
            "finished": True,
            "stage": self.stage,
            "best_epochs": {rule: best_epochs[rule] for rule in judged},
        }
        self.store.keep_judgement(self.number, self.holdout.name, judged, {}, metadata)
        return metadata
