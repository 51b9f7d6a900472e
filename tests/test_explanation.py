from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gpcn import CheckpointError, ConfigError, DataError, Graph, TrainConfig, synthesize, train
from gpcn.explanation import carried, explain, position
from gpcn.sentences import phrase
from gpcn.training.fitted import Fitted
from gpcn.training.prediction import predict
from gpcn.training.runs import Run


@pytest.fixture(scope="module")
def graph() -> Graph:
    made = synthesize(nodes=120, classes=3, degree=5, homophily=0.1, mixing="ring", unlabelled=0.1, splits=2)
    return replace(made, node_ids=[f"person {number}" for number in range(120)], label_names=["a", "b", "c"])


@pytest.fixture(scope="module")
def run(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "agpcn-link"
    train(graph, TrainConfig.of("agpcn-link", hidden=8, layers=3, epochs=40, bias=True), out=path, jobs=1)
    return Run.open(path)


def test_the_account_adds_up_to_the_prediction(run: Run, graph: Graph) -> None:
    for split in (0, 1):
        expected = predict(run, graph, splits=[split])
        for place in (0, 57, 119):
            found = explain(run, graph, f"person {place}", split=split, top=10_000)
            assert found["predicted"] == expected.predicted[place]
            assert found["probability"] == pytest.approx(expected.probabilities[place].max(), abs=1e-4)
            for share in ("winner", "margin"):
                parts = {part["part"]: part[share] for part in found["parts"]}
                assert sum(parts.values()) == pytest.approx(found["sum"][share], abs=1e-9)
                for each in found["sources"]:
                    assert len(each["top"]) == each["nodes"]
                    assert sum(near[share] for near in each["top"]) == pytest.approx(parts[each["part"]], abs=1e-9)
            assert [part["part"] for part in found["parts"]] == ["features", "hop 1", "hop 2", "hop 3", "links", "bias"]
            ratio = found["probability"] / found["runner_up_probability"]
            assert np.log(ratio) == pytest.approx(found["sum"]["margin"], abs=1e-9)


def test_features_links_and_biases_are_the_lead(run: Run, graph: Graph) -> None:
    for given, name in ((graph, "feature "),):
        found = explain(run, given, "person 57", top=10_000)
        assert sum(found["origins"].values()) == pytest.approx(found["sum"]["margin"], abs=1e-9)
        assert sum(share["margin"] for share in found["features"]) == pytest.approx(found["origins"]["features"])
        assert all(share["itself"] + share["others"] == pytest.approx(share["margin"]) for share in found["features"])
        links = next(part["margin"] for part in found["parts"] if part["part"] == "links")
        assert found["origins"]["links"] == pytest.approx(links, abs=1e-9)
        assert found["features"][0]["feature"].startswith(name)
        sizes = [abs(share["margin"]) for share in found["features"]]
        assert sizes == sorted(sizes, reverse=True)
        assert len(explain(run, given, "person 57", top=2)["features"]) == 2


def test_a_person_would_say_it_in_five_sentences(run: Run, graph: Graph) -> None:
    found = explain(run, graph, "person 57")
    assert 2 <= len(found["sentences"]) <= 5
    assert found["sentences"][0].startswith(f"person 57 is predicted {found['predicted']} with ")
    strongest = max(found["parts"], key=lambda part: part["margin"])
    assert f"({strongest['margin']:+.2f})" in found["sentences"][1]
    assert phrase(strongest["part"]) in found["sentences"][1]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("features", "its own features"),
        ("hop 1", "its neighbours"),
        ("hop 3", "nodes 3 steps away"),
        ("links", "who it is linked to"),
        ("links in-raw", "which nodes that point to it"),
        ("out-raw hop 1", "how many and which nodes it points to"),
        ("in-row hop 2", "nodes that point to it, 2 steps away"),
        ("out-row:pays [b] hop 1", "nodes it points to by pays [b]"),
        ("bias", "the general level"),
    ],
)
def test_parts_in_words(part: str, words: str) -> None:
    assert phrase(part) == words


def test_neighbours_come_with_name_label_and_role(run: Run, graph: Graph) -> None:
    found = explain(run, graph, "person 3", top=2)
    first = found["sources"][0]
    linked = {f"person {number}" for number in graph.adjacency[[3]].indices} | {"person 3"}
    assert first["nodes"] == len(linked)
    assert len(first["top"]) == 2
    assert abs(first["top"][0]["margin"]) >= abs(first["top"][1]["margin"])
    for near in first["top"]:
        assert near["node"] in linked
        place = graph.node_ids.index(near["node"])
        label = graph.labels[place]
        assert near["label"] == (None if label < 0 else "abc"[label])
        assert near["role"] == next((r for r in ("train", "val", "test") if place in getattr(graph.splits[0], r)), None)
        assert near["itself"] == (place == 3)


def test_a_bank_is_explained_by_operator_and_hop(graph: Graph, tmp_path: Path) -> None:
    links = graph.adjacency.tocoo()
    typed = {
        kind: sp.csr_array((links.data[mask], (links.row[mask], links.col[mask])), shape=links.shape)
        for kind, mask in (("pays [b]", links.row < links.col), ("owns", links.row >= links.col))
    }
    given = replace(graph, relations=typed)
    settings = {"hidden": 8, "layers": 2, "epochs": 20, "operators": "out-row:*,in-raw^1", "link_operators": "out-raw"}
    train(given, TrainConfig.of("multi-gpcn-link", **settings), out=tmp_path / "run", jobs=1, splits=[0])
    run = Run.open(tmp_path / "run")
    account = explain(run, given, "person 5", top=10_000)
    typed_parts = [f"out-row:{kind} hop {k}" for kind in typed for k in (1, 2)]
    assert [part["part"] for part in account["parts"]] == [
        "features",
        *typed_parts,
        "in-raw hop 1",
        "links out-raw",
        "bias",
    ]
    assert sum(part["margin"] for part in account["parts"]) == pytest.approx(account["sum"]["margin"], abs=1e-9)
    fewer = replace(given, relations={"owns": typed["owns"], "gives": typed["pays [b]"]})
    notes = explain(run, fewer, "person 5")["notes"]
    assert any("no link is of type 'pays [b]'" in note for note in notes)
    assert any("links of type 'gives' are new" in note for note in notes)


def test_all_nodes_at_once_agree_with_one_at_a_time(run: Run, graph: Graph) -> None:
    every = carried(Fitted.of(run, graph, torch.float64), 1)
    for place in (3, 40):
        found = explain(run, graph, f"person {place}", split=1)
        assert run.label_names()[every.predicted[place]] == found["predicted"]
        margins = [part["margin"] for part in found["parts"]]
        np.testing.assert_allclose(every.margins[:, place], margins, atol=1e-9)
        assert every.parts == tuple(part["part"] for part in found["parts"])


def test_a_graph_that_has_changed_has_no_roles(run: Run, graph: Graph) -> None:
    found = explain(run, replace(graph, splits=()), "person 3")
    assert found["role"] is None


def test_unknown_nodes_and_splits_are_one_sentence(run: Run, graph: Graph) -> None:
    with pytest.raises(DataError, match="no node 'person 500' in .*; did you mean person 50"):
        explain(run, graph, "person 500")
    with pytest.raises(DataError, match="its nodes are called person 0 and so on"):
        explain(run, graph, "#")
    with pytest.raises(ConfigError, match="split 7 of .* finished: 0, 1"):
        explain(run, graph, "person 3", split=7)
    nameless = replace(graph, node_ids=None)
    assert position(nameless, "7") == 7
    for wrong in ("120", "-1", "²", "person 3"):
        with pytest.raises(DataError, match="expected a number from 0 to 119"):
            position(nameless, wrong)


def test_near_matches_stay_quick_among_many_nodes() -> None:
    many = synthesize(nodes=30_000, degree=2, features=1, splits=0)
    named = replace(many, node_ids=[f"{'ab'[number % 2]}-{number}" for number in range(30_000)])
    with pytest.raises(DataError, match="did you mean b-"):
        position(named, "b-99999")


def test_models_that_are_neither_sum_nor_differentiable_are_refused(graph: Graph, tmp_path: Path) -> None:
    train(graph, TrainConfig.of("trees", epochs=3), out=tmp_path / "trees", splits=[0], jobs=1)
    with pytest.raises(
        ConfigError, match="holds a trees, which cannot be decomposed: boosted trees .* gpcn, gpcn-link, agpcn"
    ):
        explain(Run.open(tmp_path / "trees"), graph, "person 3")
    train(graph, TrainConfig.of("gpcn", hidden=4, epochs=3), out=tmp_path / "gpcn", splits=[0], jobs=1)
    (tmp_path / "gpcn" / "split-00" / "result.json").unlink()
    with pytest.raises(CheckpointError, match="has no finished split"):
        explain(Run.open(tmp_path / "gpcn"), graph, "person 3")
