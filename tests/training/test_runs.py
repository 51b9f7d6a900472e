from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpcn import CheckpointError, ConfigError, DataError, Graph, Split, TrainConfig, synthesize
from gpcn.runs.comparison import compare
from gpcn.runs.predictions.prediction import predict, write
from gpcn.runs.run import Run
from gpcn.runs.training import train
from gpcn.training.problem import Problem
from gpcn.training.trainer import Trainer
from tests.graphs import grown_graph

GRAPH_OPTIONS = {"nodes": 120, "classes": 3, "degree": 5, "splits": 3, "unlabelled": 0.1}

CONFIG = TrainConfig.of("gpcn", hidden=8, epochs=12)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_run_folder_holds_everything(graph: Graph, tmp_path: Path) -> None:
    result = train(graph, CONFIG, out=tmp_path / "run", jobs=1)
    assert {"metric", "test_mean", "test_std", "splits"} <= set(result.__struct_fields__)
    assert {"split", "seed", "test", "val", "epochs", "seconds"} <= set(result.splits[0].__struct_fields__)
    names = set(contents(tmp_path / "run"))
    assert {"config.json", "environment.json", "result.json", "split-00/result.json", "split-02/epochs.csv"} <= names
    assert {"split-01/predictions.npz", "split-01/model.json"} <= names
    assert not any("checkpoint" in name for name in names)
    rows = (tmp_path / "run" / "split-00" / "epochs.csv").read_text().splitlines()
    assert rows[0] == "epoch,train_loss,val_loss,val_score"
    assert len(rows) == 1 + result.splits[0].epochs
    assert json.loads((tmp_path / "run" / "result.json").read_text())["test_mean"] == result.test_mean


def test_running_again_repeats_nothing_and_finishes_what_is_missing(graph: Graph, tmp_path: Path) -> None:
    train(graph, CONFIG, out=tmp_path, splits=[0], jobs=1)
    before = contents(tmp_path / "split-00")
    result = train(graph, CONFIG, out=tmp_path, jobs=1)
    assert contents(tmp_path / "split-00") == before
    assert [split.split for split in result.splits] == [0, 1, 2]
    again = train(graph, CONFIG, out=tmp_path, jobs=1)
    assert again == result


def test_another_configuration_or_graph_is_refused(graph: Graph, tmp_path: Path) -> None:
    train(graph, CONFIG, out=tmp_path, splits=[0], jobs=1)
    with pytest.raises(ConfigError, match="holds another configuration .hidden was 8, now 9"):
        train(graph, TrainConfig.of("gpcn", hidden=9, epochs=12), out=tmp_path)
    with pytest.raises(ConfigError, match="was trained on another graph"):
        train(synthesize(nodes=120, classes=3, splits=3, seed=5), CONFIG, out=tmp_path)


def test_a_split_without_test_nodes_has_no_test_score(graph: Graph, tmp_path: Path) -> None:
    untested = replace(graph, splits=tuple(replace(split, test=[], calibration=split.test) for split in graph.splits))
    result = train(untested, CONFIG, out=tmp_path, jobs=1)
    assert (result.test_mean, result.test_std) == (None, None)
    assert result.val_mean == pytest.approx(train(graph, CONFIG, jobs=1).val_mean)
    assert Run.open(tmp_path).result() == result
    ranked = compare(untested, [result])
    assert [row.test_mean for row in ranked.models] == [None, None]
    assert ranked.chosen_on_validation == "gpcn"


def test_parts_that_training_needs_are_asked_for(graph: Graph) -> None:
    first, *others = graph.splits
    for part, message in (
        ("train", "split 0 of .* has no train nodes, to learn from"),
        ("val", "has no val nodes, by"),
    ):
        with pytest.raises(DataError, match=message):
            train(replace(graph, splits=(replace(first, **{part: []}), *others)), CONFIG)
    trainer = Trainer(Problem.of(graph, CONFIG), CONFIG, Split(train=first.train), 0)
    with pytest.raises(DataError, match="the split has no val nodes"):
        trainer.run()
    with pytest.raises(DataError, match="the split has no train nodes"):
        Trainer(Problem.of(graph, CONFIG), CONFIG, Split(val=first.val), 0)


def test_splits_that_do_not_exist_are_named(graph: Graph) -> None:
    with pytest.raises(ConfigError, match="no split 7; synthetic-120 has splits 0 to 2"):
        train(graph, CONFIG, splits=[7])
    with pytest.raises(DataError, match="has no splits"):
        train(synthesize(nodes=60, splits=0), CONFIG)


def test_something_else_than_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is not a run"):
        Run.open(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match="is damaged"):
        Run.open(tmp_path)


def test_a_comparison_ranks_and_tests(graph: Graph) -> None:
    results = [train(graph, TrainConfig.of(name, epochs=10), jobs=1) for name in ("mlp", "gpcn", "logistic")]
    comparison = compare(graph, results)
    means = [row.test_mean for row in comparison.models]
    assert means == sorted(means, reverse=True)
    best = next(row for row in comparison.models if row.best)
    assert best.model == comparison.chosen_on_validation
    assert best.against_best is None
    assert all(0 <= row.against_best.p <= 1 for row in comparison.models if not row.best)


@pytest.mark.parametrize("model", ["gpcn", "gpcn-link", "link", "linkx", "mlp", "h2gcn"])
def test_predictions_on_the_same_graph_are_the_trained_ones(model: str, graph: Graph, tmp_path: Path) -> None:
    train(graph, TrainConfig.of(model, epochs=8), out=tmp_path, splits=[0], jobs=1)
    predictions = predict(Run.open(tmp_path), graph)
    with np.load(tmp_path / "split-00" / "predictions.npz") as stored:
        np.testing.assert_allclose(predictions.probabilities, stored["probabilities"], atol=1e-5)
    assert predictions.new_nodes == 0
    some = predict(Run.open(tmp_path), graph, only_unlabelled=True)
    assert len(some.nodes) == 12


@pytest.mark.parametrize(
    "model", ["gpcn", "gpcn-link", "agpcn-link", "link", "linkx", "gcn", "label-propagation", "trees"]
)
def test_a_changed_graph_keeps_what_is_known(model: str, tmp_path: Path) -> None:
    base = synthesize(nodes=80, classes=3, degree=5, splits=1)
    named = Graph(
        adjacency=base.adjacency,
        features=base.features,
        labels=base.labels,
        splits=base.splits,
        node_ids=[f"n{number}" for number in range(80)],
        label_names=base.label_names,
    )
    train(named, TrainConfig.of(model, epochs=8), out=tmp_path, jobs=1)
    run = Run.open(tmp_path)
    before = dict(zip(named.node_ids or (), predict(run, named).probabilities, strict=True))
    predictions = predict(run, grown_graph(named, 3))
    assert predictions.new_nodes == 3
    assert predictions.probabilities.shape == (83, 3)
    assert np.isfinite(predictions.probabilities).all()
    for name, row in list(zip(predictions.node_ids, predictions.probabilities, strict=True))[:80]:
        np.testing.assert_allclose(row, before[name], atol=1e-5)  # nobody old links to anybody new
    assert any("3 prediction(s) are for nodes that were not there" in note for note in predictions.notes)
    per_node = model in ("gpcn-link", "agpcn-link", "link", "linkx")
    assert any("rest on partial links" in note for note in predictions.notes) == per_node


@pytest.mark.parametrize("model", ["gpcn-link", "label-propagation", "trees"])
def test_positions_stand_for_names_where_only_one_side_has_them(model: str, tmp_path: Path) -> None:
    base = synthesize(nodes=60, classes=3, degree=5, splits=1)
    train(base, TrainConfig.of(model, epochs=8), out=tmp_path, jobs=1)
    run = Run.open(tmp_path)
    before = predict(run, base).probabilities
    predictions = predict(run, grown_graph(base, 2))
    for name, row in list(zip(predictions.node_ids, predictions.probabilities, strict=True))[:60]:
        np.testing.assert_allclose(row, before[int(name)], atol=1e-5)
    assert predictions.new_nodes == 2


def test_a_category_that_nobody_has_any_more_is_zero(tmp_path: Path) -> None:
    from dataclasses import replace

    base = synthesize(nodes=60, features=3, splits=1)
    named = replace(base, feature_names=("age", "colour=blue", "colour=red"))
    train(named, TrainConfig.of("mlp", epochs=5), out=tmp_path, jobs=1)
    zeroed = replace(named, features=base.features * np.array([1, 1, 0], np.float32))
    without_red = replace(base, features=base.features[:, :2], feature_names=("age", "colour=blue"))
    run = Run.open(tmp_path)
    np.testing.assert_allclose(predict(run, without_red).probabilities, predict(run, zeroed).probabilities)


def test_as_many_features_as_nodes_confuse_nobody(tmp_path: Path) -> None:
    from dataclasses import replace

    base = replace(synthesize(nodes=40, features=40, splits=1), node_ids=[f"n{number}" for number in range(40)])
    train(base, TrainConfig.of("gpcn-link", hidden=40, epochs=5), out=tmp_path, jobs=1)
    run = Run.open(tmp_path)
    before = dict(zip(base.node_ids or (), predict(run, base).probabilities, strict=True))
    predictions = predict(run, grown_graph(base, 0))
    for name, row in zip(predictions.node_ids, predictions.probabilities, strict=True):
        np.testing.assert_allclose(row, before[name], atol=1e-5)


def test_features_are_matched_by_name(tmp_path: Path) -> None:
    base = synthesize(nodes=60, features=3, splits=1)
    from dataclasses import replace

    named = replace(base, feature_names=("a", "b", "c"))
    train(named, TrainConfig.of("mlp", epochs=5), out=tmp_path, jobs=1)
    run = Run.open(tmp_path)
    expected = predict(run, named).probabilities
    turned = replace(
        base,
        features=np.concatenate([base.features[:, [2, 0, 1]], np.ones((60, 1), np.float32)], axis=1),
        feature_names=("c", "a", "b", "extra"),
    )
    predictions = predict(run, turned)
    np.testing.assert_allclose(predictions.probabilities, expected)
    assert predictions.notes == ("1 feature(s) that the run does not know were left out",)
    with pytest.raises(DataError, match="lacks 1 feature.*'c'"):
        predict(run, replace(base, features=base.features[:, :2], feature_names=("a", "b")))
    with pytest.raises(DataError, match="has 2 features; the run was trained on 3"):
        predict(run, replace(base, features=base.features[:, :2]))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_predictions_are_written(suffix: str, graph: Graph, tmp_path: Path) -> None:
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    train(graph, CONFIG, out=tmp_path / "run", splits=[0], jobs=1)
    predictions = predict(Run.open(tmp_path / "run"), graph)
    path = tmp_path / f"p.{suffix}"
    write(predictions, path)
    if suffix == "npz":
        with np.load(path) as stored:
            assert stored["predicted"].tolist() == predictions.predicted
        return
    table = (pacsv.read_csv if suffix == "csv" else pq.read_table)(path)
    assert table.column_names == ["node", "predicted", "p_class 0", "p_class 1", "p_class 2"]
    assert table.num_rows == 120
    with pytest.raises(ConfigError, match="expected a name that ends in"):
        write(predictions, tmp_path / "p.txt")
