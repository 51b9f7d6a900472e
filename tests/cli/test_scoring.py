"""Scoring every day: new tables by an old run, what is said of them, and what a scheduler sees."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pacsv
import pytest

import gpcn
from gpcn.runs.run import Run
from tests.commands import in_process
from tests.sealing import resealed

NODES = 60


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def write_tables(
    folder: Path, ids: list[str], edges: list[tuple[str, str]], *, shift: float = 0, label: bool = True
) -> None:
    draw = np.random.default_rng(5)
    folder.mkdir(exist_ok=True)
    with (folder / "people.csv").open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["who", "age", "country", *(["fraud"] if label else [])])
        for number, name in enumerate(ids):
            country = "BR" if shift and number % 4 == 0 else ("FR", "DE")[number % 2]
            cells = [name, round(float(draw.normal(40, 5)) + shift, 2), country]
            table.writerow([*cells, *([("yes", "no", "no")[number % 3]] if label else [])])
    lines = ["payer,payee", *(f"{payer},{payee}" for payer, payee in edges)]
    (folder / "transfers.csv").write_text("\n".join(lines) + "\n")


def ring(ids: list[str]) -> list[tuple[str, str]]:
    return [(name, ids[(number + step) % len(ids)]) for number, name in enumerate(ids) for step in (1, 2)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scoring")
    ids = [f"p{number}" for number in range(NODES)]
    write_tables(folder / "march", ids, ring(ids))
    options = ("--source", "payer", "--target", "payee", "--id", "who", "--label", "fraud", "--undirected")
    settings = ("--set", "hidden=8", "--set", "epochs=10", "--jobs", 1, "--random-splits", 2)
    tables = (folder / "march" / "transfers.csv", "--nodes", folder / "march" / "people.csv")
    answer = in_process("train", *tables, *options, *settings, "--model", "gpcn", "--out", folder / "run")
    assert answer.returncode == 0, answer.stderr
    return folder / "run"


@pytest.fixture
def april(tmp_path: Path) -> Path:
    """Ten people are gone, five are new, and everybody is older."""
    ids = [f"p{number}" for number in range(10, NODES)] + [f"new{number}" for number in range(5)]
    edges = [*ring(ids[:-5]), *((name, f"p{20 + number}") for number, name in enumerate(ids[-5:]))]
    write_tables(tmp_path / "april", ids, edges, shift=60, label=False)
    return tmp_path / "april"


def score(run: Path, tables: Path, *words: object) -> Any:
    out = tables / "scores.csv"
    named = ("--edges", tables / "transfers.csv", "--nodes", tables / "people.csv")
    return in_process("predict", run, *named, "--out", out, *words)


def test_no_labels_are_needed_and_the_run_remembers_how_tables_are_read(run: Path, april: Path) -> None:
    answer = score(run, april, "--json")
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    facts = json.loads(answer.stdout)
    assert (facts["predictions"], facts["new_nodes"], facts["vanished_nodes"]) == (55, 5, 10)
    assert "10 node(s) trained on are not in this graph any more" in facts["notes"]
    positional = in_process(
        "predict", run, april / "transfers.csv", "--nodes", april / "people.csv", "--out", april / "same.csv"
    )
    assert positional.returncode == 0
    assert (april / "same.csv").read_text() == (april / "scores.csv").read_text()


def test_only_new_nodes_are_written_most_suspicious_first(run: Path, april: Path) -> None:
    assert json.loads(score(run, april, "--only", "new", "--sort", "--json").stdout)["predictions"] == 5
    rows = rows_of(april / "scores.csv")
    assert {row["node"] for row in rows} == {f"new{number}" for number in range(5)}
    likely = [float(row["p_yes"]) for row in rows]
    assert likely == sorted(likely, reverse=True)
    wrong = score(run, april, "--only", "old")
    assert wrong.returncode == 2
    assert "--only is 'old'; expected new" in wrong.stderr


def test_edges_to_unknown_nodes_are_refused_dropped_or_add_them(run: Path, april: Path) -> None:
    with (april / "transfers.csv").open("a") as stream:
        stream.write("p30,stranger\n")
    refused = score(run, april)
    assert refused.returncode == 2
    assert "'stranger'" in refused.stderr
    assert json.loads(score(run, april, "--unknown", "drop", "--json").stdout)["predictions"] == 55
    added = json.loads(score(run, april, "--unknown", "add", "--json").stdout)
    assert (added["predictions"], added["new_nodes"]) == (56, 6)
    assert "stranger" in {row["node"] for row in rows_of(april / "scores.csv")}


def test_drift_is_measured_and_noted(run: Path, april: Path) -> None:
    facts = json.loads(score(run, april, "--json").stdout)
    drift, notes = facts["drift"], facts["notes"]
    assert drift["unseen_levels"] == {"country": pytest.approx(14 / 55, abs=1e-6)}
    assert drift["outside_range"]["age"] > 0.9
    assert any(note.startswith("drift: 25.5% of the nodes have a value in column 'country'") for note in notes)
    assert any("outside the range of training" in note and "'age'" in note for note in notes)
    assert set(drift["classes"]["labels"]) == {"no", "yes"}
    assert drift["classes"]["labels"]["yes"] == pytest.approx(1 / 3)
    assert sum(drift["classes"]["predicted_now"].values()) == pytest.approx(1)


def test_the_same_tables_do_not_drift(run: Path) -> None:
    march = run.parent / "march"
    facts = json.loads(score(run, march, "--json").stdout)
    assert (facts["vanished_nodes"], facts["new_nodes"]) == (0, 0)
    assert facts["drift"]["unseen_levels"] == facts["drift"]["outside_range"] == {}
    assert facts["drift"]["degrees"] == 0
    assert facts["drift"]["classes"]["index"] == pytest.approx(0, abs=1e-6)
    assert not [note for note in facts["notes"] if "drift" in note]


def test_a_run_without_a_profile_says_so(run: Path, april: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(run, old)
    resealed(old / "config.json", lambda payload: payload["graph"].pop("profile"))
    facts = json.loads(score(old, april, "--json").stdout)
    assert "drift" not in facts
    assert any(note.startswith("drift cannot be measured") for note in facts["notes"])


def test_a_profile_that_does_not_fit_is_refused(run: Path, april: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(run, damaged)
    resealed(damaged / "config.json", lambda payload: payload["graph"]["profile"]["classes"].append(1))
    answer = score(damaged, april)
    assert answer.returncode == 2
    assert "graph.profile is not about 2 classes" in answer.stderr


def test_a_line_per_step_where_nobody_watches(run: Path, april: Path) -> None:
    lines = score(run, april).stderr.splitlines()
    words = [line.split(" ", 1)[1].split(" ")[0] for line in lines]
    assert words == ["opened", "read", "predicted", "wrote"]
    assert lines[1].endswith("55 nodes, 105 edges")
    records = [json.loads(line) for line in score(run, april, "--log-format", "json", "--json").stderr.splitlines()]
    assert [record["message"].split(" ")[0] for record in records] == words
    assert {record["level"] for record in records} == {"info"}
    assert records[0].keys() == {"time", "level", "message", "seconds"}


def test_an_error_is_a_line_of_json_too_and_only_then(run: Path, april: Path) -> None:
    (april / "people.csv").write_text("who,age,country\n")
    failed = score(run, april, "--log-format", "json")
    assert failed.returncode == 2
    *_, last = failed.stderr.splitlines()
    assert json.loads(last)["level"] == "error"
    opened, error = score(run, april).stderr.splitlines()  # the steps that went well, then the sentence
    assert " opened " in opened
    assert error.startswith("error: ")
    assert score(run, april, "--json").stderr == error + "\n"
    wrong = score(run, april, "--log-format", "xml")
    assert (wrong.returncode, wrong.stderr) == (2, "error: --log-format is 'xml'; expected text or json\n")


def test_two_graphs_are_refused(run: Path, april: Path) -> None:
    answer = in_process("predict", run, april / "transfers.csv", "--edges", april / "transfers.csv")
    assert answer.returncode == 2
    assert "GRAPH and --edges both name a graph" in answer.stderr


def test_the_profile_is_in_the_run(run: Path) -> None:
    profile = Run.open(run).graph.profile
    assert sum(profile.degrees) == sum(profile.classes) == NODES
    assert len(profile.features.low) == Run.open(run).graph.features


def with_a_weight(tables: Path) -> None:
    header, *lines = (tables / "transfers.csv").read_text().splitlines()
    weighted = [f"{line},{1 + number % 50}" for number, line in enumerate(lines)]
    (tables / "transfers.csv").write_text("\n".join([f"{header},weight", *weighted]) + "\n")


def test_a_weight_that_training_did_not_have_changes_no_prediction(run: Path, april: Path) -> None:
    assert score(run, april).returncode == 0
    plain = rows_of(april / "scores.csv")
    with_a_weight(april)
    facts = json.loads(score(run, april, "--json").stdout)
    assert rows_of(april / "scores.csv") == plain
    assert "edge column 'weight' is not used: training did not use it" in facts["notes"]


def test_frames_lend_no_weight_to_a_run_without_any(run: Path, april: Path, tmp_path: Path) -> None:
    people = pacsv.read_csv(april / "people.csv")
    plain = pacsv.read_csv(april / "transfers.csv")
    with_a_weight(april)
    weighted = pacsv.read_csv(april / "transfers.csv")
    folder = gpcn.open_run(run)
    probabilities = [folder.predict(edges, people).probabilities for edges in (plain, weighted)]
    np.testing.assert_array_equal(*probabilities)
