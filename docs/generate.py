"""Make the tables and pictures of README and docs from real output: `make docs-data`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from gpcn.cli.inspect import show
from gpcn.data import catalog
from gpcn.data.benchmark import is_available, load_dataset
from gpcn.inspection import inspect
from gpcn.paper import page, rows

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from benchmarks.performance_page import put_between  # noqa: E402

COLUMNS = {
    "nodes": "nodes",
    "edges": "edges",
    "features": "features",
    "classes": "classes",
    "edge_homophily": "edge",
    "node_homophily": "node",
    "class_insensitive_homophily": "class-ins.",
    "adjusted_homophily": "adjusted",
    "label_informativeness": "label inf.",
}
SHOWN = (
    ("squirrel", "gpcn"),
    ("squirrel", "gpcn-link"),
    ("chameleon", "gpcn"),
    ("texas", "gpcn"),
    ("twitch-de", "gpcn"),
)


def dataset_table() -> str:
    """Every dataset at hand, as `gpcn inspect` sees it."""
    lines = ["| dataset | " + " | ".join(COLUMNS.values()) + " | test nodes with a duplicate in train |"]
    lines.append("| --- |" + " ---: |" * (len(COLUMNS) + 1))
    for name in catalog.names():
        if not is_available(catalog.entry(name)):
            continue
        facts = inspect(load_dataset(name))
        leaks = [
            leak / sizes["test"]
            for leak, sizes in zip(facts["train_test_duplicates_per_split"], facts["split_sizes"], strict=True)
        ]
        cells = [f"{facts[key]:,}" if isinstance(facts[key], int) else f"{facts[key]:.3f}" for key in COLUMNS]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {sum(leaks) / len(leaks):.0%} |")
    return "\n".join(lines)


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
    start, end = lines.index("Seven models on the same three splits:"), lines.index("Now with your own files:")
    return "```text\n" + "\n".join(lines[start:end]).strip() + "\n```"


def picture(name: str, target: Path) -> None:
    """What `gpcn inspect NAME` prints, as an SVG."""
    with tempfile.TemporaryFile("w") as nowhere:
        console = Console(record=True, width=112, file=nowhere)
        show(inspect(load_dataset(name)), console)
        text = console.export_svg(title=f"gpcn inspect {name}", unique_id="gpcn")
    target.write_text(re.sub(r"(?s)@font-face \{.*?\}\s*", "", text))  # no request to a font host


def results() -> None:
    """docs/results.md and its figures, and the README's table, from results/."""
    page.save(ROOT / "results", ROOT / "docs" / "results.md", ROOT / "docs" / "images")
    table = rows.read(ROOT / "results" / "reproduction.csv", rows.REPRODUCTION)
    put_between(ROOT / "README.md", "results", page.best_table(table))


if __name__ == "__main__":
    results()
    if sys.argv[1:] == ["results"]:
        sys.exit()
    put_between(ROOT / "README.md", "datasets", dataset_table())
    put_between(ROOT / "README.md", "speed", speed_table())
    put_between(ROOT / "README.md", "demo", demo_output())
    picture("chameleon", ROOT / "docs" / "images" / "inspect.svg")
