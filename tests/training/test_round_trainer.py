"""Models that fit themselves are trained, kept, resumed, probed, searched and predicted like all others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from gpcn import GPCNClassifier, Graph
from gpcn.core.errors import CheckpointError, ConfigError
from gpcn.explanation import explain
from gpcn.runs.predictions.prediction import predict
from gpcn.runs.run import Run
from gpcn.runs.split_run import run_split
from gpcn.runs.training import train
from gpcn.search.budget import Budget
from gpcn.search.executors import serial_executor
from gpcn.search.schedule import Plan
from gpcn.search.space import Space
from gpcn.search.study import tune
from gpcn.training.config import TrainConfig
from gpcn.training.observers import Pulse
from gpcn.training.probe import probe
from gpcn.training.problem import Problem
from gpcn.training.round_trainer import RoundTrainer
from tests.graphs import heterophilous_graph

SETTINGS = {"epochs": 30, "patience": 10, "max_leaf_nodes": 7}


def small_graph(**changes: object) -> Graph:
    return heterophilous_graph(**({"nodes": 160, "degree": 5, "splits": 2} | changes))


def loop(graph: Graph, **settings: object) -> RoundTrainer:
    config = TrainConfig.of("trees", **(SETTINGS | settings))
    trainer = RoundTrainer(Problem.of(graph, config), config, graph.splits[0], 0)
    assert isinstance(trainer, RoundTrainer)
    return trainer


def test_an_epoch_is_a_round_and_the_best_one_is_kept() -> None:
    graph = small_graph()
    trainer = loop(graph)
    seen = []
    trainer.run([Pulse(lambda: seen.append(trainer.logits))])
    assert [row[0] for row in trainer.history] == list(range(trainer.epoch))
    losses = [row[2] for row in trainer.history]
    assert trainer.best_epoch == 1 + int(np.argmin(losses[1:]))
    assert trainer.epoch in (30, trainer.best_epoch + 11)
    assert trainer.history[0][1] > trainer.history[-1][1]
    assert torch.equal(trainer.best_logits(), seen[trainer.best_epoch])
    assert trainer.num_parameters == 3 + trainer.model.state_dict()["value"].numel()


def test_the_metric_may_choose() -> None:
    trainer = loop(small_graph(), select="metric")
    trainer.run()
    scores = [row[3] for row in trainer.history]
    assert trainer.best_epoch == 1 + int(np.argmax(scores[1:]))


def test_any_moment_is_a_good_one_to_stop() -> None:
    graph = small_graph()
    whole = loop(graph, epochs=60, patience=60)
    whole.run()
    for stop in (1, 20, 41):
        first, second = loop(graph, epochs=60, patience=60), loop(graph, epochs=60, patience=60)
        for _ in range(stop):
            first.step()
        second.restore(*first.state())
        second.run()
        assert second.history == whole.history
        assert torch.equal(second.best_logits(), whole.best_logits())


def test_a_checkpoint_of_something_else_is_refused() -> None:
    trainer = loop(small_graph())
    trainer.step()
    tensors, text = trainer.state()
    other = loop(small_graph(classes=2))
    with pytest.raises(CheckpointError, match="does not fit this model"):
        other.restore({name: value for name, value in tensors.items() if name != "fitting.value"}, text)
    with pytest.raises(CheckpointError, match="does not fit this model"):
        loop(small_graph()).restore(tensors, json.dumps({**json.loads(text), "epoch": 7}))


def test_class_weights_weigh_rare_classes_up() -> None:
    graph = small_graph(classes=2, nodes=400)
    rare = np.flatnonzero(graph.labels == 1)[::5]
    kept = np.sort(np.concatenate([np.flatnonzero(graph.labels == 0), rare]))
    split = graph.splits[0]
    few = replace(graph, splits=(replace(split, train=np.intersect1d(split.train, kept)),))
    means = [
        float(run_split(few, TrainConfig.of("trees", **SETTINGS, class_weights=weighted), 0).probabilities[:, 1].mean())
        for weighted in (False, True)
    ]
    assert means[1] > means[0] + 0.05


def test_a_run_is_like_any_other_and_holds_no_pickle(tmp_path: Path) -> None:
    graph = small_graph()
    config = TrainConfig.of("trees", **SETTINGS)
    result = train(graph, config, out=tmp_path, jobs=1)
    assert result == train(graph, config, out=tmp_path, jobs=1)
    assert result.splits[0].parameters > 0
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {file.suffix for file in files} <= {".json", ".safetensors", ".npz", ".csv", ".lock", ""}
    assert not any(b"\x80\x04\x95" in file.read_bytes()[:64] for file in files)
    run = Run.open(tmp_path)
    kept = np.load(run.folder(1) / "predictions.npz", allow_pickle=False)["probabilities"]
    np.testing.assert_array_equal(predict(run, graph, splits=[1]).probabilities.astype(np.float32), kept)
    with pytest.raises(ConfigError, match="holds a trees, which cannot be decomposed"):
        explain(run, graph, "3")


def test_jobs_change_nothing() -> None:
    graph = small_graph(nodes=80)
    config = TrainConfig.of("trees", epochs=6)
    alone, together = (train(graph, config, jobs=jobs).splits for jobs in (1, 2))
    for first, second in zip(alone, together, strict=True):
        np.testing.assert_array_equal(first.probabilities, second.probabilities)


KILLED = """
import sys
from gpcn import synthesize
from gpcn.training.config import TrainConfig
from gpcn.runs.training import train
graph = synthesize(nodes=160, classes=3, degree=5, homophily=0.1, mixing="ring", splits=2)
slow = None
if sys.argv[2] == "slowly":
    import time
    slow = lambda *_: time.sleep(0.05)
from gpcn.training import round_trainer
step = round_trainer.RoundTrainer.step
def slowly(self):
    step(self)
    if slow: slow()
round_trainer.RoundTrainer.step = slowly
config = TrainConfig.of("trees", epochs=60, patience=60, max_leaf_nodes=7)
train(graph, config, out=sys.argv[1], splits=[0], jobs=1, save_every=0.0)
"""


def test_a_kill_costs_nothing(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(KILLED)
    words = [sys.executable, str(script), str(tmp_path / "run")]
    process = subprocess.Popen([*words, "slowly"])
    checkpoint = tmp_path / "run" / "split-00" / "checkpoint.json"
    for _ in range(1200):
        if checkpoint.exists() and json.loads(json.loads(checkpoint.read_bytes())["metadata"]["state"])["epoch"] > 3:
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (checkpoint.parent / "result.json").exists()
    saved = json.loads(json.loads(checkpoint.read_bytes())["metadata"]["state"])["epoch"]
    assert 0 < saved < 60
    config = TrainConfig.of("trees", epochs=60, patience=60, max_leaf_nodes=7)
    train(small_graph(), config, out=tmp_path / "run", splits=[0], jobs=1)
    train(small_graph(), config, out=tmp_path / "straight", splits=[0], jobs=1)
    first, second = (tmp_path / name / "split-00" for name in ("run", "straight"))
    assert (first / "epochs.csv").read_bytes() == (second / "epochs.csv").read_bytes()
    tensors = [json.loads((folder / "model.json").read_bytes())["sha256"] for folder in (first, second)]
    assert tensors[0] == tensors[1]
    assert not checkpoint.exists()


def test_a_probe_crosses_its_halves() -> None:
    graph = small_graph()
    scores = probe(graph, TrainConfig.of("trees", **SETTINGS), 0, with_test=True)
    assert scores["epochs"] <= 30
    assert 40 < scores["loss"] <= 100
    assert 40 < scores["test"]["loss"] <= 100


def test_a_search_tries_what_means_something(tmp_path: Path) -> None:
    graph = small_graph()
    space = Space.of(("trees", "mlp"), fixed={"epochs": 10, "patience": 5})
    assert space.choices["trees"].keys() == {
        "learning_rate",
        "max_leaf_nodes",
        "l2",
        "hops",
        "label_features",
        "direction",
        "normalize_features",
    }
    assert "lr" in space.choices["mlp"]
    alone = Space.of(("trees",), fixed={"epochs": 10, "patience": 5})
    executor = serial_executor(graph)
    ledger = tune(
        graph, alone, Plan.of([0], 10, size=4), executor, out=tmp_path, budget=Budget(configurations=4), seed=0
    )
    executor.close()
    assert len(ledger.trials) == 4
    assert all("failed" not in outcome for trial in ledger.trials for outcome in trial.outcomes.values())
    assert any(trial.outcomes for trial in ledger.trials)


def test_the_estimator_knows_them() -> None:
    graph = small_graph(nodes=240, splits=0)
    model = GPCNClassifier("trees", graph=graph, epochs=40, patience=20).fit(np.arange(160), graph.labels[:160])
    assert (model.predict(np.arange(160, 240)) == graph.labels[160:]).mean() > 0.5
    hidden = np.where(np.arange(240) < 160, graph.labels, -1)
    linked = GPCNClassifier("trees", epochs=40).fit(graph.features, hidden, adjacency=graph.adjacency)
    probabilities = linked.predict_proba(graph.features, adjacency=graph.adjacency)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    np.testing.assert_array_equal(probabilities, linked.transduced_)
    with pytest.warns(UserWarning, match="fit was given no links"):
        rows = GPCNClassifier("trees", epochs=20).fit(graph.features, graph.labels)
    np.testing.assert_array_equal(rows.predict_proba(graph.features[:7]), rows.predict_proba(graph.features)[:7])


@pytest.mark.parametrize("weighted", [False, True])
def test_directed_and_weighted_graphs_are_trained_on_reproducibly(weighted: bool) -> None:
    graph = small_graph(directed=True)
    if weighted:
        links = graph.adjacency.copy()
        links.data = np.random.default_rng(0).uniform(0.5, 2, links.nnz).astype(links.dtype)
        graph = replace(graph, adjacency=links)
    result = run_split(graph, TrainConfig.of("trees", **SETTINGS), 0)
    assert np.isfinite(result.probabilities).all()
    again = run_split(graph, TrainConfig.of("trees", **SETTINGS), 0)
    np.testing.assert_array_equal(result.probabilities, again.probabilities)
