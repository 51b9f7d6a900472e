"""Make the tables and pictures of README and docs from real output: `make docs-data`."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from gpcn.cli.inspect import print_inspection
from gpcn.data.benchmarks import catalog
from gpcn.data.benchmarks.loading import is_available, load_dataset
from gpcn.data.inspection import Inspection, inspect
from gpcn.paper import rows
from gpcn.paper.results_page import page

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
from benchmarks.performance_page import put_between  # noqa: E402
from rooms import rooms_map  # noqa: E402

SIZES = {"nodes": "nodes", "edges": "edges", "features": "features", "classes": "classes"}
AGREEMENT = {
    "edge_homophily": "edge",
    "node_homophily": "node",
    "class_insensitive_homophily": "class-ins.",
    "adjusted_homophily": "adjusted",
    "label_informativeness": "label inf.",
}
Facts = dict[str, Inspection]
SHOWN = (
    ("squirrel", "gpcn"),
    ("squirrel", "gpcn-link"),
    ("chameleon", "gpcn"),
    ("texas", "gpcn"),
    ("twitch-de", "gpcn"),
)


def facts_at_hand(mirror: Path | None = None) -> Facts:
    """What `gpcn inspect` says of every dataset that needs no download."""
    there = [name for name in catalog.names() if is_available(catalog.entry(name), mirror)]
    return {name: inspect(load_dataset(name, mirror=mirror)) for name in there}


def dataset_table(facts: Facts) -> str:
    """Sizes and homophily of every dataset at hand, for the README."""
    columns = SIZES | AGREEMENT
    lines = ["| dataset | " + " | ".join(columns.values()) + " | test nodes with a duplicate in train |"]
    lines.append("| --- |" + " ---: |" * (len(columns) + 1))
    for name, statistics in facts.items():
        lines.append(
            f"| {name} | "
            + " | ".join(_cell(getattr(statistics, key)) for key in columns)
            + f" | {_leak(statistics):.0%} |"
        )
    return "\n".join(lines)


def catalog_table() -> str:
    """Every dataset as the catalog describes it."""
    lines = ["| dataset | nodes | edges | features | classes | edges are | splits | metric |"]
    lines.append("| --- |" + " ---: |" * 4 + " --- | --- | --- |")
    for entry in map(catalog.entry, catalog.names()):
        sizes = " | ".join(_cell(getattr(entry, key)) for key in SIZES)
        kind = "directed" if entry.directed else "undirected"
        splits = f"{entry.splits} {'random' if entry.random_splits else 'official'}"
        metric = "ROC-AUC" if entry.metric == "roc_auc" else entry.metric
        lines.append(f"| {entry.name} | {sizes} | {kind} | {splits} | {metric} |")
    return "\n".join(lines)


def measured_table(facts: Facts) -> str:
    """Homophily, self-loops, splits and leaks of every dataset at hand."""
    lines = ["| dataset | " + " | ".join(AGREEMENT.values()) + " | self-loops | first split | duplicates |"]
    lines.append("| --- |" + " ---: |" * (len(AGREEMENT) + 3))
    for name, statistics in facts.items():
        agreement = " | ".join(_cell(getattr(statistics, key)) for key in AGREEMENT)
        first = " / ".join(_cell(size) for size in statistics.split_sizes[0].values())
        lines.append(f"| {name} | {agreement} | {_cell(statistics.self_loops)} | {first} | {_leak(statistics):.0%} |")
    return "\n".join(lines)


def dataset_notes(facts: Facts) -> str:
    """What the catalog and `gpcn inspect` warn of, and the source of each dataset; then the licences."""
    lines = ["| dataset | what to know | source |", "| --- | --- | --- |"]
    licences: dict[str, list[str]] = {}
    for entry in map(catalog.entry, catalog.names()):
        warnings = facts[entry.name].warnings if entry.name in facts else ()
        remarks = [entry.note, *(f"`gpcn inspect`: {warning}" for warning in warnings)]
        lines.append(f"| {entry.name} | {'<br>'.join(filter(None, remarks)) or '–'} | {entry.citation} |")
        licences.setdefault(entry.licence, []).append(entry.name)
    stated = [f"- {licence[0].upper()}{licence[1:]}: {', '.join(names)}." for licence, names in licences.items()]
    return "\n".join([*lines, "", "Licences:", "", *stated])


def _cell(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _leak(facts: Inspection) -> float:
    """The share of test nodes with a duplicate in train, mean over splits."""
    pairs = zip(facts.train_test_duplicates_per_split, facts.split_sizes, strict=True)
    shares = [leak / sizes["test"] for leak, sizes in pairs]
    return float(sum(shares) / len(shares))


def speed_table() -> str:
    """The rows of benchmarks/results.json that a newcomer asks for first."""
    rows: list[dict[str, Any]] = json.loads((ROOT / "benchmarks" / "results.json").read_text())["rows"]
    lines = ["| dataset | model | ours | as published | PyG message passing | PyG's own GCN | speed-up |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for row in rows:
        if (row["dataset"], row["model"]) not in SHOWN:
            continue
        times = " | ".join(f"{row[f'{kind}_ms']:,.0f}" for kind in ("ours", "published", "message_passing", "pyg_gcn"))
        what = f"{row['model']}, h={row['hidden']}, L={row['layers']}, dropout {row['dropout']:g}"
        lines.append(f"| {row['dataset']} | {what} | {times} | **{row['speedup_published']:.1f}×** |")
    return "\n".join(lines)


def demo_output() -> str:
    """The second half of what `gpcn demo` prints."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "gpcn", "demo", "--out", "demo"]
        text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout
    lines = [line.rstrip() for line in text.splitlines()]
    start, end = (
        lines.index("Nine models, and the majority, on the same three splits:"),
        lines.index("Now with your own files:"),
    )
    return "```text\n" + "\n".join(lines[start:end]).strip() + "\n```"


def picture(name: str, target: Path) -> None:
    """What `gpcn inspect NAME` prints, as an SVG."""
    with tempfile.TemporaryFile("w") as nowhere:
        console = Console(record=True, width=112, file=nowhere)
        print_inspection(inspect(load_dataset(name)), console)
        text = console.export_svg(title=f"gpcn inspect {name}", unique_id="gpcn")
    target.write_text(re.sub(r"(?s)@font-face \{.*?\}\s*", "", text))  # no request to a font host


SHOWN_PARTS = """
const all = (root, what) => [...root.querySelectorAll(what)];
const hide = (parts) => parts.forEach((part) => { part.style.display = "none"; });
const [comparison] = all(document, "section[data-kind=comparison]");
const run = all(document, "section[data-kind=run]").find((part) => part.textContent.includes("Which signal"));
hide(all(document, "header, nav, footer, section").filter((part) => part !== comparison && part !== run));
hide(all(comparison, ".rows, .remarks, .hint"));
hide(all(run, ".tiles, .remarks, details, figure.chart, .rows, h3"));
const shown = ["What carries the lead", "The lead, class by class", "Which signal", "The nodes to look at first"];
all(run, "h3, figure").filter((part) => shown.some((title) => part.textContent.trim().startsWith(title)))
  .forEach((part) => { part.style.display = ""; });
hide(all(run, "tbody tr").filter((row) => [...row.parentNode.children].indexOf(row) > 3));
"""
"""What of a page the README's picture shows: the comparison, and of a run the signal and the first nodes."""


def report_picture(page: Path, target: Path, width: int = 1200) -> None:
    """The parts of a page that a newcomer asks for first, in Chromium, as a PNG."""
    import base64

    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for switch in ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"):
        options.add_argument(switch)
    browser = webdriver.Chrome(options=options, service=Service(executable_path=shutil.which("chromedriver")))
    try:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        light = [{"name": "prefers-color-scheme", "value": "light"}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": light})
        browser.get(page.resolve().as_uri())
        browser.execute_script(SHOWN_PARTS)
        height = browser.execute_script("return document.querySelector('main').getBoundingClientRect().bottom")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    finally:
        browser.quit()
    target.write_bytes(base64.b64decode(shot["data"]))


def results() -> None:
    """docs/results.md and its figures, and the README's table, from results/."""
    page.save_page(ROOT / "results", ROOT / "docs" / "results.md", ROOT / "docs" / "images")
    table = rows.read(ROOT / "results" / "reproduction.csv", rows.REPRODUCTION)
    put_between(ROOT / "README.md", "results", page.best_table(table))


def datasets() -> None:
    """The tables of docs/datasets.md, and the README's, from the catalog and the datasets at hand."""
    facts, guide = facts_at_hand(), ROOT / "docs" / "datasets.md"
    put_between(ROOT / "README.md", "datasets", dataset_table(facts))
    put_between(guide, "catalog", catalog_table())
    put_between(guide, "measured", measured_table(facts))
    put_between(guide, "notes", dataset_notes(facts))


ROOMS = ROOT / "docs" / "images" / "rooms.svg"
CHARTS_SCRIPT = ROOT / "src" / "gpcn" / "report" / "templates" / "plotly.min.js.gz"


def charts_script() -> str:
    """The script that draws the charts of a report, from the installed plotly."""
    from plotly.offline import get_plotlyjs

    script: str = get_plotlyjs()
    if "</script" in script.lower():
        raise SystemExit("this plotly's script cannot stand inside a page; install another version of plotly")
    return script.replace("\r\n", "\n").replace("\r", "\n")


if __name__ == "__main__":
    wanted = sys.argv[1:]
    if wanted in ([], ["rooms"]):
        ROOMS.write_text(rooms_map())
    if wanted == ["charts"]:  # after a change of plotly's pin
        CHARTS_SCRIPT.write_bytes(gzip.compress(charts_script().encode(), 9, mtime=0))
    if wanted in ([], ["results"]):
        results()
    if wanted in ([], ["datasets"]):
        datasets()
    if wanted[:1] == ["report"]:  # docs/generate.py report demo/report.html: needs chromium and chromedriver
        report_picture(Path(wanted[1]), ROOT / "docs" / "images" / "report.png")
    if wanted in ([], ["speed"]):
        put_between(ROOT / "README.md", "speed", speed_table())
    if not wanted:
        put_between(ROOT / "README.md", "demo", demo_output())
        picture("chameleon", ROOT / "docs" / "images" / "inspect.svg")
