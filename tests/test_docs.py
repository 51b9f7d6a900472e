"""Documentation that is checked: every Python block is run, every link followed, every generated table made again."""

from __future__ import annotations

import importlib.util
import json
import pkgutil
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gpcn
import gpcn.nn

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
            assert page.name == "README.md" or (ROOT / "docs") in (page.parent / target).resolve().parents, (
                f"{page.name} points to {target}, which is not part of the site"
            )


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_files_of_the_package_that_a_page_names_exist(page: Path) -> None:
    for path in re.findall(r"`(?:src/)?(?:gpcn/)?([a-z_]+/[a-z_/]+\.py)`", page.read_text()):
        assert any((folder / path).is_file() for folder in (ROOT, ROOT / "src" / "gpcn")), f"{page.name} names {path}"


@pytest.mark.parametrize("module", [gpcn, gpcn.nn], ids=["gpcn", "gpcn.nn"])
def test_every_public_name_is_in_the_reference(module: Any) -> None:
    documented = {
        name
        for page in (ROOT / "docs" / "api").glob("*.md")
        for name in re.findall(r"^::: (\S+)", page.read_text(), re.M)
    }
    assert {f"{module.__name__}.{name}" for name in module.__all__} <= documented


def test_every_name_in_the_reference_exists() -> None:
    """The site's builder passes over members that are not there."""
    for page in (ROOT / "docs" / "api").glob("*.md"):
        for name, members in re.findall(r"^::: (\S+)(?:\n +options:\n +members: \[(.*?)\])?", page.read_text(), re.M):
            documented = pkgutil.resolve_name(name)
            for member in filter(None, members.split(", ")):
                assert hasattr(documented, member), f"{page.name} lists {member} of {name}"


@pytest.fixture(scope="module")
def generate() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "generate.py"))


def between(page: Path, marker: str) -> str:
    (content,) = re.findall(f"<!-- {marker} -->\n\n(.*?)\n\n<!-- /{marker} -->", page.read_text(), re.DOTALL)
    return str(content)


def test_the_table_of_datasets_is_the_catalogs(generate: dict[str, Any]) -> None:
    assert between(DATASETS, "catalog") == generate["catalog_table"](), "run: make docs-data"


def test_the_table_of_searches_is_what_was_measured() -> None:
    from benchmarks.performance_page import search_table

    rows = json.loads((ROOT / "benchmarks" / "search.json").read_text())["rows"]
    assert between(ROOT / "docs" / "performance.md", "search") == search_table(rows)
    assert all(row["job_speedup"] > 6 and "+changes" not in row["commit"] for row in rows)


def test_the_table_of_sizes_is_what_was_measured() -> None:
    from benchmarks.limits import table

    rows = json.loads((ROOT / "benchmarks" / "limits.json").read_text())["rows"]
    assert between(ROOT / "docs" / "limits.md", "limits") == table(rows)
    assert all("+changes" not in row["commit"] for row in rows)


def test_the_tables_of_graphs_in_parts_are_what_was_measured() -> None:
    from benchmarks import scale

    rows = json.loads(scale.KEPT.read_text())["rows"]
    assert between(scale.PAGE, "training") == scale.training_table(rows)
    assert between(scale.PAGE, "sharding") == scale.sharding_table(rows)
    assert all("+changes" not in row["commit"] for row in rows)
    trained = [row for row in rows if row["step"] == "train" and not row.get("exceeded")]
    for row in trained:
        for sent, formula in zip(row["bytes_per_epoch"], row["formula_bytes"], strict=True):
            assert abs(sent - formula) <= 0.1 * formula, row


def commands_in(page: Path) -> list[list[str]]:
    """The words of every `gpcn` command in a block, as far as its options go."""
    lines = re.findall(r"^(?:    |\$ |    [\d* ]+  )(gpcn [a-z].*)$", page.read_text(), re.M)
    return [re.split(r"\s+", line.split("#")[0].split(" 2>")[0].split(" >")[0].strip())[1:] for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_have_options_that_exist(page: Path) -> None:
    from gpcn.cli.app import command

    for words in commands_in(page):
        parameters = command(words[0]).params
        options = {option for parameter in parameters for option in (*parameter.opts, *parameter.secondary_opts)}
        options |= {"--help", "--debug"}
        used = {word.split("=")[0] for word in words[1:] if word.startswith("--")}
        assert used <= options, f"{name_of(page)}: gpcn {' '.join(words)}"


def rows_by_dataset(table: str) -> dict[str, str]:
    return {line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("| ")}


@pytest.mark.mirror
def test_what_is_told_of_datasets_is_what_inspect_says(generate: dict[str, Any], mirror: Path) -> None:
    """Row by row, for what was at hand then and is now: another mirror may hold more or fewer datasets."""
    facts = generate["facts_at_hand"](mirror)
    both = [name for name in facts if name in rows_by_dataset(between(ROOT / "README.md", "datasets"))]
    assert {"texas", "chameleon"} <= set(both)
    for page, marker, make in (
        (ROOT / "README.md", "datasets", "dataset_table"),
        (DATASETS, "measured", "measured_table"),
        (DATASETS, "notes", "dataset_notes"),
    ):
        written, generated = rows_by_dataset(between(page, marker)), rows_by_dataset(generate[make](facts))
        assert {name: written[name] for name in both} == {name: generated[name] for name in both}, "run: make docs-data"


def test_the_speed_in_the_readme_is_what_was_measured(generate: dict[str, Any]) -> None:
    assert between(ROOT / "README.md", "speed").strip() == generate["speed_table"]().strip(), "docs/generate.py speed"


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page() -> None:
    """Zensical passes over both, however strict."""
    listed = re.findall(r"^ +- (?:.+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(pages)


@pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="needs the extra docs")
def test_the_site_is_built_without_a_warning_and_asks_nothing_of_other_hosts(tmp_path: Path) -> None:
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "No issues found" in answer.stdout + answer.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) >= len(PAGES) - 1
    assert not list((tmp_path / "site").rglob("*.py"))
    for page in pages:
        text = page.read_text()
        loaded = re.findall(r"<(?:link|script|img|iframe|source|object|embed|video|audio)\b[^>]*>", text)
        assert [tag for tag in loaded if re.search(r"""(?:href|src|srcset|data)=["']?(?:https?:)?//""", tag)] == []
        assert 'class="mermaid"' not in text  # the theme would load a script for it
    for sheet in (tmp_path / "site").rglob("*.css"):
        assert not re.search(r"""(?:url\(\s*["']?|@import\s+["'])(?:https?:)?//""", sheet.read_text()), sheet
