"""Documentation that is checked: every Python block is run, every link followed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
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
