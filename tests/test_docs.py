"""Documentation that is checked: every Python block is run, every link followed, every generated table made again."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DATASETS = ROOT / "docs" / "datasets.md"
BLOCKS = {page: re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL) for page in PAGES}
WITH_BLOCKS = [page for page in PAGES if BLOCKS[page]]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=name_of)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other in one folder: a block may read what an earlier one wrote, but imports all it needs."""
    monkeypatch.chdir(tmp_path)
    for number, block in enumerate(BLOCKS[page]):
        exec(compile(block, f"{name_of(page)}, block {number}", "exec"), {"__name__": "docs"})


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


@pytest.fixture(scope="module")
def generate() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "generate.py"))


def between(page: Path, marker: str) -> str:
    (found,) = re.findall(f"<!-- {marker} -->\n\n(.*?)\n\n<!-- /{marker} -->", page.read_text(), re.DOTALL)
    return str(found)


def test_the_table_of_datasets_is_the_catalogs(generate: dict[str, Any]) -> None:
    assert between(DATASETS, "catalog") == generate["catalog_table"](), "run: make docs-data"


@pytest.mark.mirror
def test_what_is_told_of_datasets_is_what_inspect_says(generate: dict[str, Any], mirror: Path) -> None:
    facts = generate["facts_at_hand"](mirror)
    assert between(ROOT / "README.md", "datasets") == generate["dataset_table"](facts), "run: make docs-data"
    assert between(DATASETS, "measured") == generate["measured_table"](facts), "run: make docs-data"
    assert between(DATASETS, "notes") == generate["dataset_notes"](facts), "run: make docs-data"
