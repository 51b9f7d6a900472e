"""Validation or test nodes of one class, where ROC-AUC is undefined: said early, never a traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpcn import ConfigError, TrainConfig, save
from gpcn.data.graph_record import GraphSource
from gpcn.report.materials import gather_materials
from gpcn.report.sections import section_for
from gpcn.runs.comparison import compare
from gpcn.runs.training import train
from gpcn.search.schedule import Plan
from gpcn.search.space import Space
from gpcn.search.study_header import study_header
from gpcn.training.probe import probe
from tests.faults.commands import refused, run_command
from tests.graphs import graph_with_one_class_in

SMALL = {"hidden": 4, "epochs": 4}


def test_no_model_is_the_best_where_none_has_a_validation_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = graph_with_one_class_in("val")
    results = [
        train(graph, TrainConfig.of(name, **SMALL), jobs=1, out=tmp_path / "all" / name) for name in ("mlp", "gpcn")
    ]
    assert [result.val_mean for result in results] == [None, None]
    comparison = compare(graph, results)
    assert comparison.chosen_on_validation is None
    assert not any(row.best or row.against_best for row in comparison.models)
    from gpcn.cli.compare import print_comparison

    print_comparison(comparison)
    printed = " ".join(capsys.readouterr().out.split())
    assert "best on validation" not in printed.replace("against the best on validation", "")
    assert "none is the best there" in printed
    pages = "".join(
        str(section_for(material).section(material)) for material in gather_materials([str(tmp_path / "all")])
    )
    assert "none is the best there" in pages


def test_a_search_is_refused_before_it_begins(tmp_path: Path) -> None:
    graph = graph_with_one_class_in("val")
    match = "the validation nodes of split 0 cannot choose by ROC-AUC, which needs two classes"
    with pytest.raises(ConfigError, match=match):
        study_header(graph, Space.of(["gpcn"]), Plan.of([0], 9), seed=0, source=None)
    with pytest.raises(ConfigError, match=match):
        probe(graph, TrainConfig.of("mlp", **SMALL), 0)
    save(graph, tmp_path / "g.npz")
    words = ("tune", tmp_path / "g.npz", "--metric", "roc_auc", "--budget", "2", "--out", tmp_path / "study")
    assert "cannot choose by ROC-AUC" in refused(*words)


def test_the_bound_of_a_run_whose_test_nodes_are_of_one_class_has_no_test_score(tmp_path: Path) -> None:
    graph = graph_with_one_class_in("test")
    save(graph, tmp_path / "g.npz")
    source = GraphSource.of(tmp_path / "g.npz")
    train(graph, TrainConfig.of("gpcn", **SMALL), out=tmp_path / "run", jobs=1, source=source)
    answer = run_command("bound", tmp_path / "run", "--out", tmp_path / "bound.json")
    assert answer.code == 0, answer.stderr
    assert "test –, gap – points" in answer.stdout
    assert gather_materials([str(tmp_path / "bound.json")])[0].document.test is None
    assert np.isfinite(gather_materials([str(tmp_path / "bound.json")])[0].document.train)
