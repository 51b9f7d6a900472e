from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from gpcn import ConfigError, DataError, Graph, TrainConfig, TrainingError, synthesize
from gpcn.nn import zoo
from gpcn.nn.training_step import row_region
from gpcn.runs.split_run import run_split
from gpcn.runs.training import train
from gpcn.training.problem import Problem, choose_device
from gpcn.training.trainer import Trainer
from tests.graphs import heterophilous_graph


def trainer(graph: Graph, **settings: object) -> Trainer:
    config = TrainConfig.of(**({"model": "gpcn", "hidden": 16, "epochs": 30} | settings))  # type: ignore[arg-type]
    return Trainer(Problem.of(graph, config), config, graph.splits[0], 0)


@pytest.mark.parametrize("name", zoo.names())
def test_every_model_trains_to_a_result(name: str) -> None:
    config = TrainConfig.of(name, epochs=8, **({"hidden": 8} if "hidden" in names_of(name) else {}))
    result = run_split(heterophilous_graph(), config, 0)
    assert 0 <= result.test <= 100
    assert result.probabilities.shape == (200, 3)
    np.testing.assert_allclose(result.probabilities.sum(1), 1)


def names_of(model: str) -> set[str]:
    return {hyperparameter.name for hyperparameter in zoo.specification_of(model).hyperparameters}


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_same_seed_gives_the_same_bits(dropout: float) -> None:
    graph = heterophilous_graph()
    config = TrainConfig.of("gpcn-link", hidden=16, epochs=20, dropout=dropout)
    first, second = (run_split(graph, config, 1).probabilities for _ in range(2))
    assert np.array_equal(first, second)
    other = run_split(
        graph, TrainConfig.of("gpcn-link", hidden=16, epochs=20, dropout=dropout, seed=1), 1
    ).probabilities
    assert not np.array_equal(first, other)


def test_a_split_alone_is_the_split_among_three_and_over_processes() -> None:
    graph = heterophilous_graph()
    config = TrainConfig.of("gpcn", hidden=16, epochs=15)
    together = train(graph, config, jobs=1).splits
    spread = train(graph, config, jobs=2).splits
    alone = train(graph, config, splits=[2]).splits
    for first, second in ((together[2], alone[0]), *zip(together, spread, strict=True)):
        assert np.array_equal(first.probabilities, second.probabilities)


@pytest.mark.parametrize("model", ["gpcn", "agpcn-link", "linkx"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_a_restored_trainer_goes_on_bit_by_bit(model: str, dropout: float) -> None:
    graph = heterophilous_graph()
    straight = trainer(graph, model=model, dropout=dropout, epochs=40)
    straight.run()
    halfway = trainer(graph, model=model, dropout=dropout, epochs=40)
    for _ in range(17):
        halfway.step()
    tensors, text = halfway.state()
    kept = {key: value.clone() for key, value in tensors.items()}
    halfway.run()
    torch.manual_seed(99)
    resumed = trainer(graph, model=model, dropout=dropout, epochs=40)
    resumed.restore(kept, text)
    resumed.run()
    assert straight.history == halfway.history == resumed.history
    assert torch.equal(straight.best_logits(), resumed.best_logits())


@pytest.mark.parametrize("model", ["gpcn", "linkx"])
def test_the_best_epoch_is_kept_and_patience_ends_it(model: str) -> None:
    run = trainer(heterophilous_graph(), model=model, epochs=300, patience=10, lr=0.05)
    run.run()
    losses = [row[2] for row in run.history][1:]  # weights as drawn are no candidate
    assert run.best_epoch == 1 + int(np.argmin(losses))
    assert run.epoch == run.best_epoch + 11 or run.epoch == 300
    logits = run.best_logits()[run.val]
    loss = torch.nn.functional.cross_entropy(logits, run.problem.truth[run.val]).item()
    assert loss == pytest.approx(min(losses), rel=1e-5)


def test_the_metric_may_choose_the_epoch() -> None:
    run = trainer(heterophilous_graph(), select="metric", epochs=60)
    run.run()
    scores = [row[3] for row in run.history][1:]
    assert run.best_epoch == 1 + int(np.argmax(scores))


@pytest.mark.parametrize("joined", [True, False])
def test_without_dropout_there_is_one_forward_pass_per_epoch(joined: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With it there are two, which the pass written out does as one where feature layers are narrow."""
    monkeypatch.setattr(row_region, "WIDEST_JOINED", row_region.WIDEST_JOINED if joined else 0)
    for dropout, passes in ((0.0, 1), (0.3, 2)):
        by_autograd = trainer(heterophilous_graph(), model="gcn", dropout=dropout)
        written_out = trainer(heterophilous_graph(), model="gpcn", dropout=dropout)
        calls: list[int] = []
        by_autograd.model.register_forward_hook(lambda *_, calls=calls: calls.append(1))
        assert written_out.direct is not None
        whole = written_out.direct._logits

        def counted(*given: Any, whole: Any = whole, calls: list[int] = calls) -> Any:
            calls.append(1)
            return whole(*given)

        monkeypatch.setattr(written_out.direct, "_logits", counted)
        by_autograd.step()
        assert len(calls) == passes
        written_out.step()
        assert len(calls) == passes + (1 if joined else passes)


def test_groups_have_rates_and_penalties_of_their_own() -> None:
    run = trainer(
        heterophilous_graph(),
        model="agpcn-link",
        lr=0.01,
        weight_decay=1e-3,
        theta_decay=0.5,
        link_decay=0.1,
        mu_lr=0.2,
    )
    rate_and_decay = {}
    names = {id(parameter): name for name, parameter in run.model.named_parameters()}
    for group in run.optimizer.groups:
        for parameter in group.parameters:
            rate_and_decay[names[id(parameter)]] = (group.lr, group.weight_decay)
    assert rate_and_decay["theta"] == (0.01, 0.5)
    assert rate_and_decay["link"] == (0.01, 0.1)
    assert rate_and_decay["mu_logit"] == (0.2, 0.0)
    assert rate_and_decay["out.weight"] == (0.01, 1e-3)


def test_class_weights_lift_the_rare_class() -> None:
    graph = heterophilous_graph()
    labels = np.where(graph.labels == 0, 0, 1)
    rare = Graph(adjacency=graph.adjacency, features=graph.features, labels=labels, splits=graph.splits)
    weights = trainer(rare, class_weights=True).weights
    assert weights is not None
    assert weights[0] > weights[1]


@pytest.mark.parametrize(
    "settings", [{"gamma": 256.0, "layers": 8, "lr": 10.0, "dropout": 0.0, "hidden": 64}, {"lr": 1e30}]
)
def test_a_loss_that_explodes_is_one_sentence(settings: dict[str, float]) -> None:
    with pytest.raises(TrainingError, match="the loss became .* in epoch .*; lower lr or gamma"):
        trainer(heterophilous_graph(), epochs=200, patience=200, **settings).run()


def test_one_class_cannot_be_learned() -> None:
    graph = heterophilous_graph()
    one = Graph(adjacency=graph.adjacency, features=graph.features, labels=np.zeros(200, int), splits=graph.splits)
    with pytest.raises(DataError, match="has 1 class"):
        trainer(one)


def test_a_class_absent_from_train_and_no_unlabelled_nodes_are_fine() -> None:
    graph = heterophilous_graph()
    split = graph.splits[0]
    kept = split.train[graph.labels[split.train] != 2]
    from gpcn import Split

    absent = Graph(
        adjacency=graph.adjacency,
        features=graph.features,
        labels=graph.labels,
        splits=(Split(train=kept, val=split.val, test=split.test),),
    )
    result = run_split(absent, TrainConfig.of("gpcn", hidden=8, epochs=10, class_weights=True), 0)
    assert result.test is not None


def test_roc_auc_is_selected_on_where_it_is_the_metric() -> None:
    graph = synthesize(nodes=200, classes=2, splits=1)
    from dataclasses import replace

    result = run_split(replace(graph, metric="roc_auc"), TrainConfig.of("mlp", epochs=20, select="metric"), 0)
    assert result.test == pytest.approx(100 * result.metrics["test"].roc_auc)


def test_links_are_read_and_features_normalized_as_asked() -> None:
    graph = heterophilous_graph(directed=True)
    plain = Problem.of(graph, TrainConfig.of("gpcn"))
    requested = Problem.of(graph, TrainConfig.of("gpcn", direction="both", normalize_features=True))
    assert (plain.adjacency.links != graph.adjacency).nnz == 0
    assert (requested.adjacency.links != graph.symmetrized().adjacency).nnz == 0
    np.testing.assert_allclose(np.abs(requested.graph.features).sum(1), 1, rtol=1e-5)


@pytest.mark.parametrize("name", ["link", "label-propagation", "trees"])
def test_a_graph_without_features_is_for_models_that_read_links(name: str) -> None:
    graph = heterophilous_graph()
    bare = Graph(adjacency=graph.adjacency, features=np.empty((200, 0)), labels=graph.labels, splits=graph.splits)
    assert run_split(bare, TrainConfig.of(name, epochs=5), 0).test is not None
    with pytest.raises(DataError, match="has no features, and gpcn reads them; use link"):
        trainer(bare)


def test_a_device_that_is_unknown_or_absent_is_refused() -> None:
    assert choose_device("auto").type in ("cpu", "cuda")
    with pytest.raises(ConfigError, match="expected auto, cpu or cuda"):
        choose_device("tpu")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="no CUDA device"):
            choose_device("cuda")


def test_the_model_runs_on_the_meta_device_without_touching_data() -> None:
    graph = heterophilous_graph()
    config = TrainConfig.of("gpcn-link", hidden=8, dropout=0.0)
    problem = Problem.of(graph, config, "meta")
    logits = problem.build(config)(problem.x, problem.adjacency)
    assert logits.device.type == "meta"
    assert logits.shape == (200, 3)


def test_gpr_gnn_trains_its_coefficients_apart_and_drops_what_spreads() -> None:
    settings = {"theta_decay": 0.0, "weight_decay": 0.5, "dropout": 0.0}
    groups = trainer(heterophilous_graph(), model="gprgnn", **settings).optimizer.groups
    decays = {tuple(parameter.shape): group.weight_decay for group in groups for parameter in group.parameters}
    assert decays[(11,)] == 0.0
    assert {decay for shape, decay in decays.items() if shape != (11,)} == {0.5}
    assert not trainer(heterophilous_graph(), model="gprgnn", **settings).drops
    assert trainer(heterophilous_graph(), model="gprgnn", propagation_dropout=0.5, **settings).drops


@pytest.mark.parametrize(("prepared", "expected"), [(False, {}), (True, {"bias": True})])
def test_the_family_has_biases_on_tables_alone(prepared: bool, expected: dict[str, bool]) -> None:
    from dataclasses import replace

    from gpcn.preparation.preparation import Preparation
    from gpcn.training.settle import settle

    of_tables = replace(heterophilous_graph(), preparation=Preparation((), {}) if prepared else None)
    for name in zoo.names():
        usual = TrainConfig.of(name)
        changes = expected if zoo.specification_of(name).family == "gpcn" else {}
        assert settle(usual, of_tables) == TrainConfig.of(name, **changes)


def test_what_somebody_named_is_never_changed() -> None:
    from gpcn.training.settle import settle_by_origin

    for config in (TrainConfig.of("gpcn", bias=False), TrainConfig.from_json(TrainConfig.of("gpcn").to_json())):
        assert not settle_by_origin(config, tables=True)["bias"]
    assert settle_by_origin(settle_by_origin(TrainConfig.of("gpcn"), tables=False), tables=True)["bias"] is False


def test_logits_are_there_for_the_nodes_that_are_judged() -> None:
    graph = synthesize(nodes=150, degree=2, directed=True, features=8, splits=1, seed=1)
    split = replace(graph.splits[0], train=graph.splits[0].train[:10], val=graph.splits[0].val[:10])
    config = TrainConfig.of("gpcn", layers=1, hidden=16, dropout=0.5)
    trainer = Trainer(Problem.of(graph, config), config, split, 0)
    test = torch.tensor(split.test)
    trainer.step()
    assert torch.isfinite(trainer.logits[trainer.val]).all()
    assert torch.isnan(trainer.logits[test]).any()
    trainer.record_logits_of(test)
    trainer.step()
    assert torch.isfinite(trainer.logits[test]).all()
