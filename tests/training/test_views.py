"""Two views of a problem: weights are learned from what training sees, and judged by what evaluation sees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.nn.functional as F

from gpcn import ConfigError, Graph, TrainConfig
from gpcn.nn import inputs_of
from gpcn.training.fit import fit
from gpcn.training.problem import Problem, View

GRAPH_OPTIONS = {"nodes": 80, "classes": 3, "degree": 5, "features": 6, "splits": 1, "seed": 2}
ONE_STEP = {"epochs": 2, "hidden": 8, "dropout": 0.0}


def with_hidden_test_nodes(graph: Graph, config: TrainConfig) -> Problem:
    """A problem in which training sees no link of a test node."""
    seen = sp.diags_array((~graph.splits[0].mask("test", graph.num_nodes)).astype(np.float32))
    hidden = replace(graph, adjacency=sp.csr_array(seen @ graph.adjacency @ seen))
    return replace(Problem.of(graph, config), training=View(*inputs_of(hidden)))


@pytest.mark.parametrize("model", ["gpcn", "gpcn-link", "gcn"])
def test_losses_are_those_of_their_views(graph: Graph, model: str) -> None:
    config = TrainConfig.of(model, **ONE_STEP)
    problem, split = with_hidden_test_nodes(graph, config), graph.splits[0]
    assert not problem.has_one_view
    training = fit(problem, config, split, 0)
    _, first_loss, first_val_loss, _ = training.history[0]
    seed = training.random.initial_seed()  # type: ignore[attr-defined]
    weights = problem.build(config, torch.Generator().manual_seed(seed)).eval()
    labels = torch.tensor(graph.labels)
    with torch.no_grad():
        losses = [
            float(F.cross_entropy(weights(*view)[part], labels[part]))
            for view, part in ((problem.training, training.train), (problem.evaluation, training.val))
        ]
    assert (first_loss, first_val_loss) == pytest.approx(losses, rel=1e-5)


def test_one_view_is_trained_as_two_equal_ones(graph: Graph) -> None:
    config = TrainConfig.of("gpcn", epochs=20, hidden=8, dropout=0.0)
    one = Problem.of(graph, config)
    two = replace(one, training=View(*one.training))
    assert one.has_one_view
    assert not two.has_one_view
    logits = [fit(problem, config, graph.splits[0], 0).best_logits() for problem in (one, two)]
    torch.testing.assert_close(*logits, rtol=1e-3, atol=1e-4)


def test_models_that_fit_themselves_need_one_view(graph: Graph) -> None:
    config = TrainConfig.of("trees", epochs=2)
    with pytest.raises(ConfigError, match="trees fits itself to the graph that judges it"):
        fit(with_hidden_test_nodes(graph, config), config, graph.splits[0], 0)
