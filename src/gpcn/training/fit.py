"""`fit`: the one way to train a split. Whatever else there is to do meanwhile is an `Observer`."""

from __future__ import annotations

from collections.abc import Sequence

from gpcn.graph import Split
from gpcn.nn import zoo
from gpcn.nn.engine.memory import reuse_freed_memory
from gpcn.training.config import TrainConfig
from gpcn.training.loop import Observer, TrainingLoop
from gpcn.training.problem import Problem
from gpcn.training.round_trainer import RoundTrainer
from gpcn.training.trainer import Trainer


def fit(
    problem: Problem,
    config: TrainConfig,
    split: Split,
    number: int,
    observers: Sequence[Observer] = (),
    *,
    rules: Sequence[str] | None = None,
    keep: bool = True,
) -> TrainingLoop:
    """Train `config` on one split until no rule sees progress, or an observer ends it; the training as it then is.

    Args:
        problem: the prepared graph.
        config: what to train and how.
        split: which nodes train and validate; test nodes are never looked at.
        number: the split's number; with the seed it decides every random draw.
        observers: called before the first epoch and after each, in this order.
        rules: by which best epochs are chosen; by default the one of `config`.
        keep: whether `best_logits` can bring back the models of these epochs.
    """
    reuse_freed_memory()
    kind = RoundTrainer if zoo.specification_of(config.model).fits_itself else Trainer
    training: TrainingLoop = kind(problem, config, split, number, rules=rules, keep=keep)
    training.run(observers)
    return training
