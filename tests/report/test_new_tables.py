"""`gpcn report RUN --edges NEW`: how new tables differ from those of training, on the page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace as with_fields

from gpcn import ConfigError, Graph
from gpcn.api.folder import open_run
from gpcn.api.report_page import write_report_page
from gpcn.report.drift_section import drift_section
from gpcn.report.materials import NewTablesMaterial
from tests.commands import in_process
from tests.report.conftest import NASTY


@pytest.fixture(scope="module")
def material(folder: Path, today: Path) -> NewTablesMaterial:
    predictions = open_run(folder / "runs" / "gpcn-link").predict(str(folder / "later.npz"))
    return NewTablesMaterial("later.npz", "gpcn-link", predictions)


def specs(html: str) -> dict[str, dict]:
    titles = re.findall(r"<figcaption><strong>(.*?)</strong> ", html)
    charts = re.findall(r'<script type="application/json">(.*?)</script>', html)
    return dict(zip(titles, map(json.loads, charts), strict=False))


def test_the_section_says_what_predict_says(material: NewTablesMaterial, graph: Graph) -> None:
    html, drift = drift_section(material), material.predictions.drift
    assert drift is not None
    assert (material.predictions.new_nodes, material.predictions.vanished_nodes) == (5, 25)
    notes = [note for note in material.predictions.notes if note.startswith("drift: ")]
    assert f"{len(notes)} notable difference" in html
    assert "lie outside the range of training" in html
    assert "drift: " not in html
    charts = specs(html)
    before, now = charts["Numbers of links"]["data"]
    links = np.diff(graph.adjacency.indptr)
    shares = np.bincount(np.ceil(np.log2(links + 1)).astype(int)) / 150
    np.testing.assert_allclose(before["y"][: len(shares)], shares, atol=1e-4)
    assert sum(now["y"]) == pytest.approx(1, abs=1e-3)
    labels, then, current = charts["Classes"]["data"]
    np.testing.assert_allclose(current["y"], material.predictions.probabilities.mean(axis=0), atol=1e-4)
    assert sum(labels["y"]) == pytest.approx(1, abs=1e-3)
    assert sum(then["y"]) == pytest.approx(1, abs=1e-3)


def test_a_single_node_among_thousands_is_not_nothing(material: NewTablesMaterial) -> None:
    assert material.predictions.drift is not None
    drift = with_fields(material.predictions.drift, unseen_levels={"country": 1 / 3300, "city": 0.25})
    html = drift_section(replace(material, predictions=replace(material.predictions, drift=drift)))
    assert "below 0.1% of the nodes" in html
    assert "25.0% of the nodes" in html


def test_names_are_text_and_can_be_left_out(material: NewTablesMaterial) -> None:
    html = drift_section(material)
    assert NASTY not in html
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") >= 50
    hidden = drift_section(NewTablesMaterial("later.npz", "run", material.predictions, names_nodes=False))
    assert "nodes to look at first" not in hidden


def test_tables_that_do_not_differ_are_said_to_be_alike(folder: Path) -> None:
    same = open_run(folder / "runs" / "gpcn-link").predict(str(folder / "graph.npz"))
    assert "Nothing notable differs from the tables of training." in drift_section(NewTablesMaterial("g", "run", same))


def test_the_command_adds_the_section_for_a_comparison_too(folder: Path, today: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    answer = in_process("report", folder / "runs", "--edges", folder / "later.npz", "--out", out, "--json")
    assert answer.returncode == 0, answer.stderr
    kinds = [part["kind"] for part in json.loads(answer.stdout)["sections"]]
    assert kinds.count("new tables") == 1
    assert kinds[-1] == "new tables"


def test_what_cannot_be_compared_is_one_sentence(folder: Path, today: Path, tmp_path: Path) -> None:
    later = str(folder / "later.npz")
    with pytest.raises(ConfigError, match="edges is scored by a run, and .*graph.npz holds none; name a run, too"):
        write_report_page([folder / "graph.npz"], tmp_path / "r.html", edges=later)
    with pytest.raises(ConfigError, match="nodes can belong to one of them only; leave graph out"):
        write_report_page([folder / "runs"], tmp_path / "r.html", edges=later, graph="elsewhere.csv")
    assert not (tmp_path / "r.html").exists()


def test_a_run_opened_in_python_reports_new_tables_too(folder: Path, today: Path, tmp_path: Path) -> None:
    written = open_run(folder / "runs" / "gpcn-link").report(tmp_path / "page.html", edges=folder / "later.npz")
    assert [part["kind"] for part in written["sections"]][-1] == "new tables"
