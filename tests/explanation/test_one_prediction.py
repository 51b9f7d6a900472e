"""The account of one prediction: it adds up, it names whom and what it is about, it refuses what it cannot explain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gpcn import CheckpointError, ConfigError, DataError, Graph, TrainConfig, synthesize
from gpcn.explanation import explain, lead_parts
from gpcn.explanation.explained_model import explained_node_position
from gpcn.explanation.sentences import part_phrase
from gpcn.runs.predictions.fitted import Fitted
from gpcn.runs.predictions.prediction import predict
from gpcn.runs.run import Run
from gpcn.runs.training import train


def test_the_account_adds_up_to_the_prediction(run: Run, graph: Graph) -> None:
    for split in (0, 1):
        expected = predict(run, graph, splits=[split])
        for node in (0, 57, 119):
            account = explain(run, graph, f"person {node}", split=split, top=10_000)
            assert account.predicted == expected.predicted[node]
            assert account.probability == pytest.approx(expected.probabilities[node].max(), abs=1e-4)
            for share in ("winner", "margin"):
                parts = {part.part: getattr(part, share) for part in account.parts}
                assert sum(parts.values()) == pytest.approx(getattr(account.sum, share), abs=1e-9)
                for source in account.sources:
                    assert len(source.top) == source.nodes
                    assert sum(getattr(other, share) for other in source.top) == pytest.approx(
                        parts[source.part], abs=1e-9
                    )
            assert [part.part for part in account.parts] == [
                "features",
                "hop 1",
                "hop 2",
                "hop 3",
                "links",
                "bias",
            ]
            ratio = account.probability / account.runner_up_probability
            assert np.log(ratio) == pytest.approx(account.sum.margin, abs=1e-9)


def test_features_links_and_biases_are_the_lead(run: Run, graph: Graph) -> None:
    for given, name in ((graph, "feature "),):
        account = explain(run, given, "person 57", top=10_000)
        assert sum(account.origins.values()) == pytest.approx(account.sum.margin, abs=1e-9)
        assert sum(share.margin for share in account.features) == pytest.approx(account.origins["features"])
        assert all(share.itself + share.others == pytest.approx(share.margin) for share in account.features)
        links = next(part.margin for part in account.parts if part.part == "links")
        assert account.origins["links"] == pytest.approx(links, abs=1e-9)
        assert account.features[0].feature.startswith(name)
        sizes = [abs(share.margin) for share in account.features]
        assert sizes == sorted(sizes, reverse=True)
        assert len(explain(run, given, "person 57", top=2).features) == 2


def test_a_person_would_say_it_in_five_sentences(run: Run, graph: Graph) -> None:
    account = explain(run, graph, "person 57")
    assert 2 <= len(account.sentences) <= 5
    assert account.sentences[0].startswith(f"person 57 is predicted {account.predicted} with ")
    strongest = max(account.parts, key=lambda part: part.margin)
    assert f"({strongest.margin:+.2f})" in account.sentences[1]
    assert part_phrase(strongest.part) in account.sentences[1]


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
def test_parts_are_said_in_words(part: str, words: str) -> None:
    assert part_phrase(part) == words


def test_neighbours_come_with_name_label_and_role(run: Run, graph: Graph) -> None:
    account = explain(run, graph, "person 3", top=2)
    first = account.sources[0]
    linked = {f"person {number}" for number in graph.adjacency[[3]].indices} | {"person 3"}
    assert first.nodes == len(linked)
    assert len(first.top) == 2
    assert abs(first.top[0].margin) >= abs(first.top[1].margin)
    for neighbour in first.top:
        assert neighbour.node in linked
        node = graph.node_ids.index(neighbour.node)
        label = graph.labels[node]
        assert neighbour.label == (None if label < 0 else "abc"[label])
        assert neighbour.role == next(
            (r for r in ("train", "val", "test") if node in getattr(graph.splits[0], r)), None
        )
        assert neighbour.itself == (node == 3)


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
    assert [part.part for part in account.parts] == [
        "features",
        *typed_parts,
        "in-raw hop 1",
        "links out-raw",
        "bias",
    ]
    assert sum(part.margin for part in account.parts) == pytest.approx(account.sum.margin, abs=1e-9)
    fewer = replace(given, relations={"owns": typed["owns"], "gives": typed["pays [b]"]})
    notes = explain(run, fewer, "person 5").notes
    assert any("no link is of type 'pays [b]'" in note for note in notes)
    assert any("links of type 'gives' are new" in note for note in notes)


def test_all_nodes_at_once_agree_with_one_at_a_time(run: Run, graph: Graph) -> None:
    every = lead_parts(Fitted.of(run, graph, torch.float64), 1)
    for node in (3, 40):
        account = explain(run, graph, f"person {node}", split=1)
        assert run.label_names()[every.predicted[node]] == account.predicted
        margins = [part.margin for part in account.parts]
        np.testing.assert_allclose(every.margins[:, node], margins, atol=1e-9)
        assert every.parts == tuple(part.part for part in account.parts)


def test_a_graph_that_has_changed_has_no_roles(run: Run, graph: Graph) -> None:
    account = explain(run, replace(graph, splits=()), "person 3")
    assert account.role is None


def test_unknown_nodes_and_splits_are_one_sentence(run: Run, graph: Graph) -> None:
    with pytest.raises(DataError, match="no node 'person 500' in .*; did you mean person 50"):
        explain(run, graph, "person 500")
    with pytest.raises(DataError, match="its nodes are called person 0 and so on"):
        explain(run, graph, "#")
    with pytest.raises(ConfigError, match="split 7 of .* finished: 0, 1"):
        explain(run, graph, "person 3", split=7)
    nameless = replace(graph, node_ids=None)
    assert explained_node_position(nameless, "7") == 7
    for wrong in ("120", "-1", "²", "person 3"):
        with pytest.raises(DataError, match="expected a number from 0 to 119"):
            explained_node_position(nameless, wrong)


def test_near_matches_stay_quick_among_many_nodes() -> None:
    many = synthesize(nodes=30_000, degree=2, features=1, splits=0)
    named = replace(many, node_ids=[f"{'ab'[number % 2]}-{number}" for number in range(30_000)])
    with pytest.raises(DataError, match="did you mean b-"):
        explained_node_position(named, "b-99999")


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
