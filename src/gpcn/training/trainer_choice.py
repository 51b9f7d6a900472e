"""Who trains a model: by gradients, or the model itself."""

from __future__ import annotations

from gpcn.graph import Split
from gpcn.nn import zoo
from gpcn.training.config import TrainConfig
from gpcn.training.loop import TrainingLoop
from gpcn.training.problem import Problem
from gpcn.training.round_trainer import RoundTrainer
from gpcn.training.trainer import Trainer


def trainer_for(problem: Problem, config: TrainConfig, split: Split, number: int) -> TrainingLoop:
    """What trains `config` on one split; `number` and the seed decide every random draw."""
    kind = RoundTrainer if zoo.specification_of(config.model).fits_itself else Trainer
    return kind(problem, config, split, number)
