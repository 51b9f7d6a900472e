"""Make the tables and pictures of README and docs from real output: `make docs-data`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rich.console import Console

from gpcn.cli.inspect import show
from gpcn.data import catalog
from gpcn.data.benchmark import is_available, load_dataset
from gpcn.inspection import inspect

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


def picture(name: str, target: Path) -> None:
    """What `gpcn inspect NAME` prints, as an SVG."""
    console = Console(record=True, width=112, file=(ROOT / "docs" / ".null").open("w"))
    show(inspect(load_dataset(name)), console)
    text = console.export_svg(title=f"gpcn inspect {name}", unique_id="gpcn")
    target.write_text(re.sub(r"(?s)@font-face \{.*?\}\s*", "", text))  # no request to a font host
    (ROOT / "docs" / ".null").unlink()


if __name__ == "__main__":
    table = dataset_table()
    put_between(ROOT / "README.md", "datasets", table)
    picture("chameleon", ROOT / "docs" / "images" / "inspect.svg")
