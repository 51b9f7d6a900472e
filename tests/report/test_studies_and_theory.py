"""The sections of a search, of `auto`, and of theory say what their files say."""

from __future__ import annotations

import json
import re
from copy import copy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace as with_fields

from gpcn import Graph, report
from gpcn.core.errors import CheckpointError, DataError
from gpcn.report import study_section, theory_section
from gpcn.report.materials import StudyMaterial, gather_materials
from gpcn.search.auto import auto
from gpcn.search.auto.portfolio import Entry
from gpcn.search.budget import Budget
from gpcn.search.executors import serial_executor
from gpcn.search.ledger import Ledger
from gpcn.search.summary import ProposedPoint, describe_study
from gpcn.theory.document import TheoryDocument
from tests.report.conftest import NASTY


@pytest.fixture(scope="module")
def studied(folder: Path) -> StudyMaterial:
    (study,) = [
        material
        for material in gather_materials([str(folder / "studies" / NASTY)])
        if isinstance(material, StudyMaterial)
    ]
    return study


def chart(figures: list, title: str) -> dict:
    (figure,) = [figure for figure in figures if figure.title == title]
    return figure.spec


def test_progress_shows_every_configuration_and_never_falls(studied: StudyMaterial) -> None:
    spec = study_section._progress(studied.summary).spec
    dots = [number for trace in spec["data"] if trace["mode"] == "markers" for number in trace["x"]]
    scored = [row.number for row in studied.summary.history if row.score is not None]
    assert sorted(dots) == scored
    assert len(scored) < 24 == studied.summary.configurations
    best = spec["data"][-1]["y"]
    assert best == sorted(best)
    highest = max(row.score for row in studied.summary.history if row.state == "complete")
    assert best[-1] == pytest.approx(highest, abs=1e-3)  # the figure has five digits


def test_parallel_coordinates_lead_through_the_values_of_each_configuration(studied: StudyMaterial) -> None:
    figure = study_section._coordinates(studied.summary, studied.dimensions)
    assert figure is not None
    names = figure.spec["layout"]["xaxis"]["ticktext"]
    assert names[-1] == "score"
    assert "gpcn:gamma" in names or "gamma" in names
    rows = {row.number: row for row in studied.summary.history if row.score is not None}
    assert len(figure.data) == len(rows)
    best = figure.data[-1]
    number = int(re.match(r"#(\d+)", best["hovertext"])[1])
    assert rows[number].score == max(row.score for row in rows.values())
    assert best["y"][-1] == 1
    for name, height in zip(names[:-1], best["y"], strict=False):
        values = list(studied.dimensions[name])
        assert height == pytest.approx(values.index(rows[number].point[name]) / (len(values) - 1), abs=1e-4)


def test_the_study_section_has_what_show_has(folder: Path, studied: StudyMaterial) -> None:
    summary = describe_study(Ledger.open(folder / "studies" / NASTY))
    assert summary == studied.summary
    assert summary.states["diverged"] > 0
    html = study_section.study_section(studied)
    assert f"{summary.best[0].score:.2f}" in html
    assert f"{summary.states['diverged']} diverged or failed" in html
    assert "lower lr or gamma" in html
    assert "<img" not in html


def test_a_study_that_was_not_begun_is_not_made_by_looking(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "study.json").write_bytes((folder / "studies" / NASTY / "study.json").read_bytes())
    with pytest.raises(CheckpointError, match="has no evaluations at .*study.db: it was not begun"):
        report.write(tmp_path, tmp_path / "r.html")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["study.json"]


def test_a_study_without_a_score_is_a_sentence(studied: StudyMaterial) -> None:
    history = tuple(ProposedPoint(row.number, "running", None, None, row.point) for row in studied.summary.history)
    empty = {"best": (), "diverged": (), "importance": {}, "evaluations": 0, "seconds": 0.0, "history": history}
    states = {"complete": 0, "pruned": 0, "diverged": 0, "running": 24}
    html = study_section.study_section(replace(studied, summary=with_fields(studied.summary, **empty, states=states)))
    assert "No configuration has a score yet" in html
    assert "<figure" not in html
    assert "24 more proposed" in html
    failed = empty | {"states": {**states, "diverged": 24, "running": 0}, "diverged": studied.summary.diverged}
    html = study_section.study_section(replace(studied, summary=with_fields(studied.summary, **failed)))
    assert "No configuration has a score: 24 diverged or failed" in html


def test_the_cards_of_a_study_agree(studied: StudyMaterial) -> None:
    summary = studied.summary
    history = [copy(row) for row in summary.history]
    for row in history[:12]:
        row.state = "running"
    for row in history[:6]:
        row.score = None
    counts = {state: sum(row.state == state for row in history) for state in summary.states}
    tiles = {name: (value, about) for name, value, about in study_section._tiles(
        with_fields(summary, history=tuple(history), states=counts)
    )}  # fmt: skip
    scored = sum(row.state == "running" and row.score is not None for row in history)
    assert tiles["ended"][0] == "12"
    assert tiles["tried"][0] == str(12 + scored)
    assert f"{12 - scored} more proposed" in tiles["tried"][1]
    assert not scored or f"{scored} more unfinished" in tiles["ended"][1]


def test_auto_is_its_choice_its_reasons_and_its_first_member(graph: Graph, tmp_path: Path) -> None:
    entries = [
        Entry("majority", "label-propagation", {"alpha": 0.0, "layers": 1}),
        Entry("<b>bold</b>", "gpcn", {"hidden": 8, "epochs": 10}),
    ]
    result = auto(
        graph, serial_executor(graph), out=tmp_path / "chosen", budget=Budget(seconds=6), splits=[0], portfolio=entries
    )
    written = report.write([tmp_path / "chosen"], tmp_path / "r.html")
    assert [section["kind"] for section in written["sections"]][:2] == ["auto", "run"]
    assert written["sections"][0]["name"] == "chosen"
    page = (tmp_path / "r.html").read_text()
    assert result.why[-1][1:] in page
    assert "&lt;b&gt;bold" in page and "<b>bold" not in page
    assert f"{result.expected.score:.2f}" in page
    kinds = [section["kind"] for section in report.write([tmp_path], tmp_path / "r.html")["sections"]]
    assert kinds[:2] == ["auto", "run"], "what auto wrote is recognized in the folder around it"


def test_theory_says_what_the_bound_says(folder: Path) -> None:
    written = json.loads((folder / "bound.json").read_bytes())
    document = TheoryDocument.read(folder / "bound.json")
    assert document.bounds is not None
    spec = theory_section._chart(document.bounds).spec
    for trace, version in zip(spec["data"], ("printed", "corrected"), strict=True):
        drawn = [value for value in trace["x"] if value is not None]
        terms = [value for value in written["bounds"][version]["terms"].values() if value]
        assert drawn == pytest.approx(terms, rel=1e-3)
        assert sum(terms) == pytest.approx(written["bounds"][version]["total"])
    density = theory_section._density(document).spec["data"][0]
    assert sum(value or 0 for value in density["y"]) == pytest.approx(1, abs=1e-3)
    assert sum(document.spectrum.density.shares) == pytest.approx(1)
    nodes = document.spectrum.power_sums[0]
    assert nodes == 150
    middles = [(a + b) / 2 for a, b in pairwise(document.spectrum.density.edges)]
    mean = sum(share * middle for share, middle in zip(document.spectrum.density.shares, middles, strict=True))
    assert mean * nodes == pytest.approx(document.spectrum.power_sums[1], rel=0.05)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"kind": "something"}, "is not a document of gpcn bound"),
        ({"test_score": "<b>"}, "is damaged .test_score is '<b>'; expected a number or null"),
        ({"bounds": {}}, "is damaged .bounds.printed is missing"),
        ({"spectrum": {}}, "is damaged .* make it again"),
    ],
)
def test_documents_of_strangers_are_checked(change: dict, expected: str, folder: Path, tmp_path: Path) -> None:
    changed = json.loads((folder / "bound.json").read_bytes()) | change
    (tmp_path / "b.json").write_text(json.dumps(changed))
    with pytest.raises(DataError, match=expected):
        report.write(tmp_path / "b.json", tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()
