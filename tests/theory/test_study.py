"""Bound against gap, and `gpcn bound` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gpcn import synthesize
from gpcn.nn.zoo import FAMILY
from gpcn.paper.measurements import complexity, theory
from gpcn.paper.rows import read, write
from gpcn.theory.study import bound_and_gap, bound_and_reached, rank_correlation
from gpcn.training.config import TrainConfig
from tests.commands import in_process as gpcn

GRAPH_OPTIONS = {"nodes": 120, "classes": 3, "degree": 4, "splits": 2, "directed": True}

ROOT = Path(__file__).resolve().parents[2]


def test_a_point_of_the_study_has_its_bound_and_its_gap() -> None:
    graph = synthesize(nodes=100, classes=2, degree=4, splits=1)
    config = TrainConfig.of("gpcn", hidden=8, layers=3, gamma=0.5, epochs=15, dropout=0)
    row = bound_and_gap(graph, config, 0)
    assert row["gap"] == pytest.approx(row["train"] - row["test"])
    assert len(row["energy"]) == len(row["distance"]) == 4
    assert row["corrected"] > 0
    assert row["mu"] == 1
    deeper = bound_and_gap(graph, TrainConfig.of("gpcn", hidden=8, layers=8, gamma=4, epochs=3, dropout=0), 0)
    assert deeper["corrected"] > 100 * row["corrected"]
    assert deeper["corrected_dominant"].startswith("hop_")


def test_a_bound_names_its_terms_total_dominant_term_and_constants(mirror: Path) -> None:
    words = ("bound", "texas", "--model", "gpcn-link", "--set", "hidden=16", "--set", "epochs=20", "--json")
    answer = gpcn(*words, GPCN_MIRROR=str(mirror))
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    for version in ("printed", "corrected"):
        bound = document["bounds"][version]
        assert bound["total"] == pytest.approx(sum(bound["terms"].values()))
        assert bound["terms"][bound["dominant"]] == max(bound["terms"].values())
        assert {"features", "hop_1", "hop_2", "links"} <= set(bound["terms"])
        assert bound["transductive"]["gap"] > bound["transductive"]["complexity"]
    assert document["constants"]["c_prime"] == 1
    assert document["constants"]["Q"] == pytest.approx(1 / 87 + 1 / 37)
    assert document["spectrum"]["of"] == "singular"
    assert document["quantities"]["mu"] == pytest.approx(0.5, abs=0.3)


def test_a_run_and_the_same_training_have_the_same_bound(graph_file: Path, tmp_path: Path) -> None:
    settings = ("--model", "agpcn-link", "--set", "hidden=8", "--set", "epochs=12")
    assert gpcn("train", graph_file, *settings, "--out", tmp_path / "run", "--jobs", 1).returncode == 0
    first = json.loads(gpcn("bound", tmp_path / "run", "--split", 1, "--json").stdout)
    second = json.loads(gpcn("bound", graph_file, *settings, "--split", 1, "--json").stdout)
    assert first["bounds"]["corrected"]["total"] == pytest.approx(second["bounds"]["corrected"]["total"], rel=1e-4)
    assert (first["train_score"], first["test_score"]) == (second["train_score"], second["test_score"])
    shown = gpcn("bound", tmp_path / "run", "--monte-carlo", 2)
    assert shown.returncode == 0
    for words in ("features", "links", "as the proof supports", "largest", "C' = 1 is assumed", "reached by random"):
        assert words in shown.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--model", "mlp"), "not MLP"),
        (("--set", "bias=true"), "without biases"),
        (("--split", "7"), "there is no split 7"),
        (("--spectrum", "all"), "expected singular or eigen"),
        (("--coefficients", "all"), "expected model, binomial or printed"),
        (("--delta", "2"), "expected a probability"),
        (("--monte-carlo", "1"), "expected two draws or more"),
    ],
)
def test_bad_words_are_one_sentence(words: tuple[str, ...], expected: str, graph_file: Path) -> None:
    answer = gpcn("bound", graph_file, "--set", "epochs=2", *words)
    assert answer.returncode == 2
    assert expected in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_the_study_covers_what_it_says() -> None:
    keys = [key for _, key in theory.points()]
    assert len(keys) == 5 * 6 + 5
    assert {key["layers"] for key in keys} == {1, 2, 4, 8, 16}
    for config, where in theory.points():
        assert config["gamma"] == where["gamma"]
        assert where["model"] == "gpcn" or config["mu"] == where["mu"]


def test_the_study_is_correlated_written_and_drawn(tmp_path: Path) -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert np.isnan(rank_correlation([1, 2, 3], [5, 5, 5]))
    table = []
    for number, (_, where) in enumerate(theory.points()):
        row = {"dataset": "texas", **where, "printed": 10.0 * number, "corrected": 1.0 + number, "gap": 3.0 * number}
        row |= {"corrected_dominant": "hop_1", "train": 99.0, "test": 70 - number, "loss_gap": 0.1, "energy_last": 0.5}
        table.append(row | {"energy": json.dumps(list(np.linspace(1, 0.1, 17))), "splits": 3})
    theory.save(table, tmp_path)
    kept = read(tmp_path / "theory.csv", theory.COLUMNS)
    assert len(kept) == 35
    (row,) = theory.correlations(kept)
    assert row["corrected~gap"] == 1
    assert row["corrected~test"] == -1
    assert "| texas | 30 | +1.00 |" in theory.section(kept)
    theory.draw_bound_against_gap(kept, tmp_path / "a.svg")
    assert "corrected bound" in (tmp_path / "a.svg").read_text()
    write(tmp_path / "theory.csv", theory.COLUMNS, table, theory.KEY)
    assert len(read(tmp_path / "theory.csv", theory.COLUMNS)) == 35


def test_the_bound_stands_beside_what_is_reached(tmp_path: Path) -> None:
    graph = synthesize(nodes=60, classes=3, degree=3, splits=1, seed=2)
    measured = bound_and_reached(graph, complexity.complexity_config("agpcn-link"), 0, draws=2)
    assert 0 < measured["reached"] < measured["corrected"]
    row = {"dataset": "texas", "model": "gpcn", "status": "", "seconds": 1, "commit": "abc", **measured}
    complexity.save([row], tmp_path)
    (kept,) = read(tmp_path / "complexity.csv", complexity.COLUMNS)
    assert f"| {measured['corrected'] / measured['reached']:.1f} |" in complexity.section([kept])


def test_committed_complexities_lie_below_the_corrected_bound() -> None:
    table = read(ROOT / "results" / "complexity.csv", complexity.COLUMNS)
    assert {(row["dataset"], row["model"]) for row in table} == {
        (dataset, model) for dataset in complexity.DATASETS for model in FAMILY
    }
    for row in table:
        assert float(row["reached"]) + 3 * float(row["error"]) < float(row["corrected"])
        assert "+changes" not in row["commit"]


def test_the_committed_study_is_complete() -> None:
    table = read(ROOT / "results" / "theory.csv", theory.COLUMNS)
    assert {row["dataset"] for row in table} == set(theory.DATASETS)
    assert len(table) == 3 * 35
    assert all(int(row["splits"]) == 3 for row in table)
    assert all("+changes" not in row["commit"] for row in table)


def test_a_spectrum_is_the_same_by_both_methods_and_is_drawn(graph_file: Path, tmp_path: Path) -> None:
    documents = []
    for method in ("exact", "lanczos"):
        words = ("spectrum", graph_file, "--powers", 3, "--method", method, "--probes", 200, "--json")
        answer = gpcn(*words, "--figure", tmp_path / f"{method}.svg")
        assert answer.returncode == 0, answer.stderr
        documents.append(json.loads(answer.stdout))
        assert "singular value of Ā" in (tmp_path / f"{method}.svg").read_text()
    assert not documents[0]["symmetric"]
    for k in (1, 2, 3):
        assert documents[0]["power_sums"][k] == pytest.approx(
            documents[1]["power_sums"][k], abs=documents[1]["errors"][k] + 1e-9
        )
    both = gpcn("spectrum", graph_file, "--direction", "both", "--json").stdout
    assert json.loads(both)["symmetric"]
    shown = gpcn("spectrum", graph_file, "--direction", "in")
    assert "singular values of Ā" in shown.stdout
    shown = gpcn("spectrum", graph_file, "--direction", "both", "--of", "eigen")
    assert "eigenvalue moduli of Ā" in shown.stdout
    assert "exact" in shown.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--of", "all"), "expected singular or eigen"),
        (("--direction", "up"), "expected out, in or both"),
        (("--method", "magic"), "expected auto, exact or lanczos"),
        (("--of", "eigen", "--method", "lanczos"), "use singular values"),
    ],
)
def test_bad_words_for_a_spectrum_are_refused_in_one_sentence(
    words: tuple[str, ...], expected: str, graph_file: Path
) -> None:
    answer = gpcn("spectrum", graph_file, *words)
    assert answer.returncode == 2
    assert expected in answer.stderr
    assert answer.stderr.count("\n") == 1
