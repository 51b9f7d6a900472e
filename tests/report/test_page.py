"""The page as a file: what is in it, what must not be, and what it says."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import runpy
from dataclasses import replace
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace as with_fields

from gpcn import CheckpointError, ConfigError, DataError, Graph, TrainConfig, load, report, save, synthesize
from gpcn.data.graph_record import GraphSource
from gpcn.report import escaping
from gpcn.report import page as assembly
from gpcn.report.palette import COLOURS
from gpcn.runs.comparison import compare
from gpcn.runs.run import Run
from gpcn.runs.training import train
from tests.report.conftest import CLASSES, MODELS, NASTY

ROOT = Path(__file__).resolve().parents[2]


class Reading(HTMLParser):
    """Elements, scripts and visible text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs).get("type"), ""))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] == "script" and self.scripts and self.cdata_elem == "script":
            kind, before = self.scripts[-1]
            self.scripts[-1] = (kind, before + data)
        else:
            self.text.append(data.strip())


@pytest.fixture(scope="session")
def reading(page: Path) -> Reading:
    return Reading(page.read_text())


@pytest.fixture(scope="session")
def specs(reading: Reading) -> list[dict]:
    return [json.loads(text) for kind, text in reading.scripts if kind == "application/json"]


def painted(value: object, key: str = "") -> object:
    """A chart with real colours; a colour that the palette does not have is an error."""
    if isinstance(value, dict):
        return {name: painted(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [painted(item, key) for item in value]
    if key in ("color", "colorscale") and isinstance(value, str):
        assert value.startswith("$"), f"{value} is not a colour of the palette"
        return COLOURS[value[1:]][0]
    return value


def test_everything_is_shown_once(folder: Path, page: Path) -> None:
    paths = [folder / "runs", folder / "runs" / "mlp", folder / "runs" / "gpcn-link", folder / "runs" / NASTY]
    sections = report.write([*paths, folder / "graph.npz"], folder / "again.html")["sections"]
    assert [section["kind"] for section in sections] == ["graph", "comparison", "run", "run", "run"]
    assert sorted(section["name"] for section in sections[2:]) == sorted(MODELS)


def test_the_page_is_small_enough_to_mail(page: Path) -> None:
    assert page.stat().st_size < 6_000_000


def test_every_chart_is_one_that_plotly_accepts_and_none_needs_webgl(specs: list[dict]) -> None:
    assert len(specs) > 12
    for spec in specs:
        figure = go.Figure(painted(spec))
        assert {trace.type for trace in figure.data} <= {"bar", "scatter", "heatmap"}
        assert all(len(trace.x if trace.x is not None else trace.z) for trace in figure.data)


def test_nothing_in_the_page_leads_outside_or_acts_by_attribute(reading: Reading) -> None:
    for tag, attributes in reading.elements:
        assert tag not in ("img", "iframe", "object", "embed", "form", "base", "b")
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "srcset", "data", "action"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,")), (tag, attributes)


def test_the_policy_names_exactly_the_scripts_that_run(reading: Reading) -> None:
    policy = next(a["content"] for t, a in reading.elements if t == "meta" and "Policy" in (a.get("http-equiv") or ""))
    running = [text for kind, text in reading.scripts if kind is None]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in running]
    assert re.findall(r"'sha256-([^']+)'", policy) == digests
    assert len(digests) == 3
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_names_are_text(reading: Reading, specs: list[dict]) -> None:
    shown = " ".join(reading.text)
    assert f"run {NASTY}" in re.sub(r"\s+", " ", shown)
    assert f"read from {NASTY}" in shown
    assert "alert(2)" in shown
    assert "{{ 7 * 7 }}" in shown
    assert not set("\u2028\u202e") & set(shown)
    charts = json.dumps(specs, ensure_ascii=False)
    assert "<" not in charts.replace("<extra></extra>", "").replace("<br>", "")
    assert escaping.chart_label(CLASSES[0]) in charts
    templates = re.findall(r'"(?:hover|text)template": "([^"]*)"', charts)
    assert templates
    assert not [text for text in templates if "img" in text or "7 * 7" in text]


def test_scripts_of_data_cannot_be_left() -> None:
    given = {"a": "</script><!--<script>", "b": ["\u2028\u2029&'\"\\", 1.5, None]}
    text = escaping.script_json(given)
    assert json.loads(text) == given
    assert not set(text) & set("<>&\u2028\u2029")
    with pytest.raises(ValueError, match="Out of range"):
        escaping.script_json(float("nan"))


def test_names_that_look_alike_when_cut_stay_two_rows(tmp_path: Path) -> None:
    same = "a class whose name is far too long for an axis, "
    graph_of_two = replace(synthesize(nodes=40, classes=2, splits=0), label_names=(same + "one", same + "two"))
    save(graph_of_two, tmp_path / "g.npz")
    report.write(tmp_path / "g.npz", tmp_path / "r.html")
    charts = [json.loads(text) for kind, text in Reading((tmp_path / "r.html").read_text()).scripts if kind]
    assert charts[0]["data"][0]["y"] == [0, 1]
    assert charts[0]["layout"]["yaxis"]["ticktext"] == ["a class who…an axis, one", "a class who…an axis, two"]


def test_labels_are_cut_where_that_leaves_them_apart() -> None:
    assert escaping.chart_labels(["short", "x" * 30]) == ["short", "x" * 23 + "…"]
    hops = [f"both-symmetric+loops hop {number}" for number in (1, 2)]
    assert escaping.chart_labels(hops) == ["both-symmet…+loops hop 1", "both-symmet…+loops hop 2"]
    alike = [f"links: log {way}-degree by kind=transfer" for way in ("out", "in")]
    labels = escaping.chart_labels(alike)
    assert len(set(labels)) == 2
    assert max(map(len, labels)) <= escaping.LONGER[-1]
    assert escaping.chart_labels(["x" * 40 + "<" + "y" * 40] * 2)[0].count("…") == 1  # the same name twice stays so


def test_the_comparison_says_what_gpcn_compare_says(graph: Graph, folder: Path, page: Path, specs: list[dict]) -> None:
    results = [with_fields(Run.open(folder / "runs" / name).result(), model=name) for name in MODELS]
    table = compare(graph, results)
    shown = page.read_text()
    for row in table.models:
        assert f"{row.test_mean:.2f} ± {row.test_std:.2f}" in shown
        if row.against_best:
            assert f"[{row.against_best.low:+.2f}, {row.against_best.high:+.2f}]" in shown
    dots, means = next(spec["data"] for spec in specs if spec["data"][0].get("name") == "splits")
    assert sorted(dots["x"]) == sorted(split.test for row in table.models for split in row.splits)
    assert means["x"] == pytest.approx([row.test_mean for row in table.models], rel=1e-4)


def test_the_run_says_what_its_results_say(folder: Path, tmp_path: Path, graph: Graph) -> None:
    run = Run.open(folder / "runs" / "gpcn-link")
    report.write(run.path, tmp_path / "r.html")
    charts = [json.loads(text) for kind, text in Reading((tmp_path / "r.html").read_text()).scripts if kind]
    by_axis = {chart["layout"].get("xaxis", {}).get("title", {}).get("text"): chart for chart in charts}
    counts = [[int(text) for text in row] for row in by_axis["predicted"]["data"][0]["text"]]
    splits = run.result().splits
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            assert count == sum(split.metrics["test"].confusion[i][j] for split in splits)
    assert max(y for trace in by_axis["epoch"]["data"] if "ring" not in trace["name"] for y in trace["y"]) > 1
    kept = next(trace for chart in charts for trace in chart["data"] if trace.get("name") == "kept epoch")
    assert kept["x"] == [split.best_epoch for split in splits]
    assert kept["y"] == pytest.approx([split.val for split in splits], rel=1e-4)
    right, wrong = next(chart["data"] for chart in charts if chart["data"][0].get("name", "").startswith("right ("))
    nodes = [int(re.search(r"\d+", bars["name"]).group()) for bars in (right, wrong)]
    assert sum(nodes) == sum(split.test.size for split in graph.splits)
    assert nodes[0] == sum(counts[i][i] for i in range(3))


def test_a_graph_that_cannot_be_had_leaves_a_remark(folder: Path, graph: Graph, tmp_path: Path) -> None:
    train(graph, TrainConfig.of("gpcn", hidden=4, epochs=4), out=tmp_path / "run", splits=[0], jobs=1)
    report.write(tmp_path / "run", tmp_path / "r.html")
    shown = (tmp_path / "r.html").read_text()
    assert "cannot be loaded, so what needs it is left out" in shown
    assert "Reliability" not in shown
    written = report.write([tmp_path / "run", folder / "graph.npz"], tmp_path / "r.html")
    assert [section["kind"] for section in written["sections"]] == ["graph", "run"]
    assert "Reliability" in (tmp_path / "r.html").read_text()


def test_a_graph_that_has_changed_leaves_a_remark(graph: Graph, tmp_path: Path) -> None:
    source = GraphSource.of(tmp_path / "g.npz")
    train(graph, TrainConfig.of("gpcn", hidden=4, epochs=4), out=tmp_path / "run", splits=[0], jobs=1, source=source)
    save(synthesize(nodes=50, splits=1), tmp_path / "g.npz")
    report.write(tmp_path / "run", tmp_path / "r.html")
    assert "has changed since training" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("classes", [1, 40])
def test_a_graph_of_few_or_many_classes_has_a_page(classes: int, tmp_path: Path) -> None:
    labelled = synthesize(nodes=200, classes=max(2, classes), splits=0)
    if classes == 1:
        labelled = replace(labelled, labels=labelled.labels * 0, label_names=("only",))
    save(labelled, tmp_path / "g.npz")
    assert report.write(tmp_path / "g.npz", tmp_path / "r.html")["bytes"] == (tmp_path / "r.html").stat().st_size


def test_bad_input_is_one_sentence(folder: Path, graph: Graph, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="is neither a run .* nor a study .* nor a comparison .* nor a graph"):
        report.write(tmp_path / "empty", out)
    with pytest.raises(DataError, match="did you mean texas"):
        report.write("texsa", out)
    with pytest.raises(DataError, match="cannot read x+: File name too long; check its name"):
        report.write("x" * 5000, out)
    with pytest.raises(ConfigError, match="expected a name that ends in .html"):
        report.write(folder / "runs", tmp_path / "r.pdf")
    with pytest.raises(ConfigError, match="there is nothing to report on"):
        report.write([], out)
    config = TrainConfig.of("gpcn", hidden=4, epochs=4)
    train(graph, config, out=tmp_path / "all" / "one", splits=[0], jobs=1)
    (tmp_path / "all" / "one" / "split-00" / "result.json").unlink()
    with pytest.raises(CheckpointError, match="has no finished split; run the same gpcn train"):
        report.write(tmp_path / "all" / "one", out)
    with pytest.raises(CheckpointError, match="no run with a finished split"):
        report.write(tmp_path / "all", out)
    train(graph, config, out=tmp_path / "all" / "two", splits=[0], jobs=1)
    train(synthesize(nodes=50, splits=1), config, out=tmp_path / "all" / "three", jobs=1)
    with pytest.raises(DataError, match="holds runs on different graphs"):
        report.write(tmp_path / "all", out)
    (tmp_path / "all" / "two" / "split-00" / "epochs.csv").write_text("epoch,train_loss,val_loss,val_score\n1,2\n")
    with pytest.raises(CheckpointError, match="epochs.csv does not have its checksum"):
        report.write(tmp_path / "all" / "two", out)
    assert not out.exists()


def test_the_script_of_the_charts_is_that_of_the_pinned_plotly() -> None:
    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    pinned = re.search(r"^plotly==(.*)$", (ROOT / "constraints.txt").read_text(), re.M)
    assert pinned is not None
    if metadata.version("plotly") != pinned[1]:
        pytest.skip("another plotly is installed than constraints.txt pins")
    assert assembly.charts_script() == generate["charts_script"](), "run: docs/generate.py charts"


@pytest.mark.mirror
def test_a_benchmark_is_reported_by_its_name(mirror: Path, tmp_path: Path) -> None:
    written = report.write("texas", tmp_path / "r.html", mirror=mirror)
    assert written["sections"] == [{"kind": "graph", "name": "texas"}]
    assert load("texas", mirror=mirror).num_nodes == 183
