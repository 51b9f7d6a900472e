"""Trainings share no random state: not with each other, not with whoever calls them."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gpcn import GPCNClassifier, TrainConfig, synthesize
from gpcn.nn.engine.dropout import dropout
from gpcn.nn.engine.randomness import current_generator, drawing_from
from gpcn.nn.gpcn import GPCN
from gpcn.runs.predictions.prediction import predict
from gpcn.runs.run import Run
from gpcn.runs.training import train

GRAPH = synthesize(nodes=300, classes=3, degree=6, homophily=0.1, mixing="ring", splits=2)


def trained(model: str) -> Callable[[], Any]:
    config = TrainConfig.of(model, hidden=24, epochs=30, dropout=0.4)
    return lambda: train(GRAPH, config, splits=[1]).splits[0].probabilities


def classified() -> Any:
    fitted = GPCNClassifier(graph=GRAPH, hidden=24, epochs=30, random_state=0).fit(np.arange(300), GRAPH.labels)
    return fitted.predict_proba(np.arange(300))


@pytest.mark.parametrize(
    "work", [trained("gpcn"), trained("multi-gpcn-link"), trained("gcn"), trained("gprgnn"), classified]
)
def test_three_threads_with_one_seed_give_the_serial_bits(work: Callable[[], Any]) -> None:
    alone = work()
    with ThreadPoolExecutor(3) as pool:
        together = [future.result() for future in [pool.submit(work) for _ in range(3)]]
    assert all(np.array_equal(alone, probabilities) for probabilities in together)


def test_the_global_random_state_of_the_caller_stays_as_it_is(tmp_path: Path) -> None:
    config = TrainConfig.of("gprgnn", hidden=8, epochs=5, dropout=0.5, start="random")
    torch.manual_seed(17)
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    train(GRAPH, config, out=tmp_path / "run", splits=[0])
    predict(Run.open(tmp_path / "run"), GRAPH)
    classified()
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])
    assert random.getstate() == before[2]


def test_outside_a_training_models_draw_from_torchs_global_generator() -> None:
    def drawn() -> torch.Tensor:
        model = GPCN(4, 8, 2)
        return torch.cat([model.out.weight.flatten(), dropout(torch.ones(64), 0.5, True)])

    torch.manual_seed(5)
    usual = drawn()
    with drawing_from(torch.Generator().manual_seed(5)):
        assert torch.equal(drawn(), usual)
    assert current_generator() is None


def test_what_a_trainer_draws_is_what_the_seeded_global_generator_gave() -> None:
    from gpcn.training.problem import Problem
    from gpcn.training.trainer import Trainer

    config = TrainConfig.of("gpcn", hidden=8, seed=4)
    trainer = Trainer(Problem.of(GRAPH, config), config, GRAPH.splits[1], 1)
    torch.manual_seed(int(np.random.SeedSequence([4, 1]).generate_state(1, np.uint64)[0] >> 1))
    first = torch.empty_like(trainer.parameters[0]).uniform_(-1, 1)
    bound = 1 / np.sqrt(first.shape[0])
    torch.testing.assert_close(trainer.parameters[0].detach(), first * bound)
