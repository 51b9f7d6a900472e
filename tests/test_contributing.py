"""CONTRIBUTING and the architecture page: recipes work, names exist, the map is of the package as it is."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.metrics import brier_score_loss

import gpcn
from gpcn import load, synthesize
from gpcn.cli import app as application
from gpcn.data.benchmarks import catalog
from gpcn.nn import zoo
from gpcn.nn.zoo import registry
from gpcn.tasks import metrics
from gpcn.tasks.classification import Classification
from gpcn.training.config import TrainConfig

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()


def recipe(title: str) -> dict[str, Any]:
    """What the recipe of that title defines."""
    section = PAGE.split(f"### {title}\n")[1].split("\n## ")[0].split("\n### ")[0]
    code = re.findall(r"```python\n(.*?)```", section, flags=re.S)
    assert len(code) == 1
    names: dict[str, Any] = {"__name__": title}
    exec(compile(code[0], f"CONTRIBUTING.md, {title}", "exec"), names)
    return names


def test_the_recipe_of_a_model_is_a_model_that_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = recipe("A model")["SPECIFICATION"]
    monkeypatch.setitem(registry._ZOO, entry.name, entry)
    graph = synthesize(nodes=200, homophily=0.1, mixing="ring", splits=1, seed=0)
    model = zoo.build(entry.name, in_channels=graph.num_features, out_channels=graph.num_classes, num_nodes=200)
    model = model.double().eval()
    x, links = torch.tensor(graph.features, dtype=torch.float64), torch.tensor(graph.adjacency.toarray()).double()
    mean = links / links.sum(1, keepdim=True).clamp(min=1)
    literal = model.node(x) + mean @ model.neighbours(x)  # type: ignore[operator]
    torch.testing.assert_close(model(x, graph), literal)
    result = gpcn.train(graph, TrainConfig.of(entry.name, epochs=60)).evaluate()
    majority = np.bincount(graph.labels).max() / graph.num_nodes
    assert result.test_mean > 100 * majority + 10


def test_the_recipe_of_a_dataset_loads_from_a_mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    entry = recipe("A dataset")["ENTRY"]
    monkeypatch.setitem(catalog._CATALOG, entry.name, entry)
    karate = nx.karate_club_graph()
    folder = tmp_path / "somebody" / "karate"
    folder.mkdir(parents=True)
    (folder / "edges.txt").write_text("".join(f"{a} {b}\n" for a, b in karate.edges))
    (folder / "clubs.txt").write_text("".join(f"{int(c == 'Officer')}\n" for _, c in karate.nodes(data="club")))
    graph = load("karate", mirror=tmp_path)
    assert (graph.num_nodes, graph.num_edges, graph.num_classes) == (entry.nodes, entry.edges, entry.classes)
    assert (graph.num_features, len(graph.splits), graph.directed) == (entry.features, entry.splits, False)


def test_the_recipe_of_a_metric_is_scikit_learns_and_the_same_for_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_METRICS", dict(metrics._METRICS))
    recipe("A metric")
    task = Classification(2)
    generator = np.random.default_rng(0)
    logits, labels = generator.normal(size=(50, 2)), generator.integers(2, size=50)
    probabilities = torch.tensor(logits).softmax(1).numpy()
    expected = 2 * brier_score_loss(labels, probabilities[:, 1])  # theirs is of one of two classes
    assert task.score(probabilities, labels, "brier") == pytest.approx(expected)
    assert task.tensor_score(torch.tensor(logits), torch.tensor(labels), "brier") == pytest.approx(expected)
    assert task.evaluate(probabilities, labels, "brier").score == pytest.approx(expected)
    assert metrics.oriented_score("brier", 0.1) > metrics.oriented_score("brier", 0.2)


def test_the_recipe_of_a_command_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = ModuleType("gpcn.cli.degrees")
    module.__dict__.update(recipe("A command"))
    monkeypatch.setitem(sys.modules, "gpcn.cli.degrees", module)
    graph = synthesize(nodes=30, degree=4, splits=1, seed=0)
    gpcn.save(graph, tmp_path / "g.npz")
    counts = np.diff(graph.adjacency.indptr)
    application.command("degrees").main([str(tmp_path / "g.npz")], standalone_mode=False)
    assert f"{counts.min()} to {counts.max()} links per node" in capsys.readouterr().out
    application.command("degrees").main([str(tmp_path / "g.npz"), "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["most"] == counts.max()


def test_the_map_of_rooms_is_of_the_package_as_it_is() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        rooms = importlib.import_module("rooms")
    finally:
        sys.path.remove(str(ROOT / "docs"))
    drawn = (ROOT / "docs" / "images" / "rooms.svg").read_text()
    assert drawn == rooms.rooms_map(), "draw it again: .venv/bin/python docs/generate.py rooms"
    together = [box for box in re.findall(r">([^<]+)</text>", drawn) if " · " in box]
    assert not together, f"these rooms import each other: {together}"


def test_the_list_of_rooms_names_all_of_them_and_no_other() -> None:
    top = {path.name + "/" for path in (ROOT / "src" / "gpcn").iterdir() if (path / "__init__.py").exists()}
    listed = set(re.findall(r"^      (\w+/)", PAGE.split("    src/gpcn/\n")[1].split("    tests/")[0], flags=re.M))
    assert listed == top


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:[a-z_]+\.)+\w+)`", ARCHITECTURE))))
def test_what_the_architecture_page_names_is_there(name: str) -> None:
    if name.endswith((".py", ".npz", ".json", ".csv", ".md")):
        assert name.startswith("CONTRIBUTING") or name.split(".", maxsplit=1)[0] in ARCHITECTURE
        return
    parts = ["gpcn", *name.removeprefix("gpcn.").split(".")]
    for length in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            value = getattr(value, attribute)
        return
