"""The rooms of the house and which way data flows between them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from gpcn.nn import zoo
from gpcn.records import layout

SOURCE = Path(__file__).resolve().parents[1] / "src" / "gpcn"
ALLOWED = {  # room -> other rooms of the package it may import; every one stands below it
    "core": set(),
    "records": {"core"},
    "tasks": {"core", "records"},
    "graph": {"core", "records", "tasks", "preparation"},  # the last for a type alone
    "preparation": {"core", "records", "graph"},
    "data": {"core", "records", "tasks", "graph", "preparation"},
    "nn": {"core", "graph"},
    "exec": {"core"},
    "training": {"core", "records", "tasks", "graph", "nn"},
    "runs": {"core", "records", "tasks", "graph", "preparation", "data", "nn", "exec", "training"},
    "search": {"core", "records", "tasks", "graph", "data", "nn", "exec", "training", "runs"},
    "distributed": {"core", "records", "tasks", "graph", "preparation", "data", "nn", "exec", "training", "runs"},
    "explanation": {"core", "tasks", "graph", "nn", "runs"},
    "theory": {"core", "records", "graph", "nn", "training"},
    "report": {"core", "records", "tasks", "graph", "data", "runs", "search", "explanation", "theory"},
    "api": {"core", "records", "tasks", "graph", "data", "nn", "training", "runs", "search", "distributed"}
    | {"explanation", "report"},
    "paper": {"core", "records", "data", "nn", "exec", "training", "runs", "theory"},
}
ONLY_IN = {
    "ray": {"exec", "distributed"},
    "optuna": {"search"},
    "duckdb": {"distributed"},
    "pymetis": {"distributed"},
    "typer": {"cli"},
    "matplotlib": {"theory"},
    "jinja2": {"report"},
    "networkx": {"data"},
    "torch_geometric": {"data"},
    "torchdiffeq": {"nn"},
}


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    modules = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require_library":
            modules |= {argument.value for argument in node.args[:1] if isinstance(argument, ast.Constant)}
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "gpcn":
                modules |= {f"gpcn.{alias.name}" for alias in node.names}
            else:
                modules.add(node.module)
    return modules


FILES = sorted(SOURCE.rglob("*.py"))
NAMING_MODELS = {"nn", "paper"}
OTHER_MEANINGS = {"gpcn": "the package and its command", "link": "a weight of models with a term from links"}


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_imports_go_one_way(path: Path) -> None:
    here = room(path)
    for name in imports(path):
        top = name.split(".")[0]
        assert here in ONLY_IN.get(top, {here}), f"{top} belongs in {' or '.join(sorted(ONLY_IN[top]))}"
        if top == "gpcn" and here in ALLOWED:
            there = name.split(".")[1]
            assert there in ALLOWED[here] | {here}, f"{here} must not import {there}"


def texts(path: Path) -> list[str]:
    """All text in the code of a file, docstrings apart."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return [node.value for node in constants if isinstance(node.value, str)]


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_only_the_layout_knows_how_files_are_called(path: Path) -> None:
    if path != Path(layout.__file__):
        assert [text for text in texts(path) if Path(text).name in layout.FILES or text.startswith("split-")] == []


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_a_file_says_what_it_is_for_and_stays_readable(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))
    assert len(path.read_text().splitlines()) <= 400


def chosen_values(tree: ast.AST) -> list[ast.AST]:
    """Values that are compared, or stand where nothing is given."""
    chosen: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            chosen += [*node.defaults, *filter(None, node.kw_defaults)]
        elif isinstance(node, ast.BoolOp):
            chosen += node.values
        elif isinstance(node, ast.Compare):
            chosen += [node.left, *node.comparators]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            chosen.append(node.value)
    return chosen


def test_no_model_is_named_outside_the_zoo() -> None:
    """What others must know of a model stands in its specification."""
    named = []
    for path in (path for path in FILES if room(path) not in NAMING_MODELS):
        tree = ast.parse(path.read_text())
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        chosen = chosen_values(tree)
        named += [
            f"{path.relative_to(SOURCE)}:{text.lineno} names {text.value!r}"
            for text in texts
            if text.value in zoo.names() and (text.value not in OTHER_MEANINGS or text in chosen)
        ]
    assert named == []


OF_THE_COMMAND_LINE = {"cli", "report", "paper"}  # what they write is read beside a command line
RAYS_OWN = "ray start --"


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_only_the_command_line_names_its_options(path: Path) -> None:
    if room(path) in OF_THE_COMMAND_LINE or "presets" in path.parts:
        return
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            named = re.search(r"(?<![\w-])--[a-z]", node.value.replace(RAYS_OWN, ""))
            assert named is None, (
                f"line {node.lineno}: name it as gpcn.core.errors.Option, which each face words: {node.value!r}"
            )
