"""`gpcn export`: what is written runs without gpcn, and says what it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpcn
from tests.commands import in_process

OUTSIDE = """
import json, sys
import numpy as np, torch
sys.modules["gpcn"] = None  # whoever imports it fails
folder = sys.argv[1]
about = json.load(open(f"{folder}/about.json"))
arrays = np.load(f"{folder}/inputs.npz", allow_pickle=False)
program = torch.export.load(f"{folder}/model.pt2").module()
given = program(*(torch.tensor(arrays[entry["name"]]) for entry in about["inputs"]))
np.testing.assert_allclose(given.numpy(), arrays["probabilities"], rtol=1e-4, atol=1e-6)
nodes = json.load(open(f"{folder}/nodes.json"))
print(json.dumps({"rows": len(given), "classes": about["classes"], "nodes": nodes[:2]}))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> gpcn.RunFolder:
    graph = gpcn.synthesize(nodes=60, classes=3, splits=2, seed=1)
    settings = {"epochs": 5, "patience": 5}
    return gpcn.compare(graph, ["gpcn", "trees"], settings=settings, out=tmp_path_factory.mktemp("export") / "runs")


def test_it_runs_where_there_is_no_gpcn(runs: gpcn.RunFolder, tmp_path: Path) -> None:
    out = tmp_path / "exported"
    answer = in_process("export", runs.path / "gpcn", "--out", out)
    assert answer.returncode == 0, answer.stderr
    assert "gpcn, mean of 2 split(s), for the nodes of any graph" in answer.stdout
    outside = subprocess.run(
        [sys.executable, "-I", "-c", OUTSIDE, str(out)], capture_output=True, text=True, check=False
    )
    assert outside.returncode == 0, outside.stderr
    assert json.loads(outside.stdout) == {"rows": 60, "classes": ["class 0", "class 1", "class 2"], "nodes": ["0", "1"]}
    with np.load(out / "inputs.npz") as arrays:
        np.testing.assert_allclose(arrays["probabilities"], runs["gpcn"].predict().probabilities, rtol=1e-4, atol=1e-6)


def test_another_graph_goes_through_the_same_program(runs: gpcn.RunFolder, tmp_path: Path) -> None:
    import torch

    other = gpcn.synthesize(nodes=75, classes=3, splits=0, seed=5)
    first, second = (runs["gpcn"].export(tmp_path / name, graph) for name, graph in (("a", None), ("b", other)))
    program = torch.export.load(first["out"] + "/model.pt2").module()
    with np.load(second["out"] + "/inputs.npz") as arrays:
        given = program(*(torch.tensor(arrays[entry["name"]]) for entry in second["inputs"]))
    np.testing.assert_allclose(given.numpy(), runs["gpcn"].predict(other).probabilities, rtol=1e-4, atol=1e-6)


def test_members_of_auto_have_shares(tmp_path: Path) -> None:
    graph = gpcn.synthesize(nodes=60, classes=2, splits=1, seed=1)
    chosen = gpcn.auto(graph, budget=5)
    try:
        about = chosen.export(tmp_path / "exported")
    except gpcn.ConfigError as error:
        assert "cannot be exported" in str(error)  # trees may be among what was chosen
        return
    members = about.get("members", [{"folder": "", "share": 1.0}])
    total = sum(
        member["share"] * np.load(tmp_path / "exported" / member["folder"] / "inputs.npz")["probabilities"]
        for member in members
    )
    np.testing.assert_allclose(total, chosen.predict().probabilities, rtol=1e-3, atol=1e-5)


def test_what_cannot_be_exported_is_refused_and_nothing_is_written(runs: gpcn.RunFolder, tmp_path: Path) -> None:
    trees = in_process("export", runs.path / "trees", "--out", tmp_path / "a")
    assert trees.returncode == 2
    assert "holds a trees, which is no chain of products with the links" in trees.stderr
    onnx = in_process("export", runs.path / "gpcn", "--format", "onnx", "--out", tmp_path / "a")
    assert onnx.returncode == 2
    assert "gpcn writes no ONNX; write --format torch" in onnx.stderr
    assert "expected torch" in in_process("export", runs.path / "gpcn", "--format", "tf").stderr
    assert (
        "holds a run; choose another --out" in in_process("export", runs.path / "gpcn", "-o", runs.path / "gpcn").stderr
    )
    assert not (tmp_path / "a").exists()
