"""`auto` killed at random moments, then run again: it goes on, and nothing better than its result was thrown away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 20
SCRIPT = """
import json, os, random, signal, sys, time
from pathlib import Path

import torch
from gpcn import synthesize
from gpcn.records.reading import encode
from gpcn.search.auto import auto, members
from gpcn.search.auto.portfolio import Entry
from gpcn.search.budget import Budget
from gpcn.search.executors import serial_executor

out, kills = Path(sys.argv[1]), int(sys.argv[2])
quick = {"epochs": 30, "patience": 10}
portfolio = (
    Entry("majority", "label-propagation", {"alpha": 0.0, "layers": 1}),
    Entry("logistic", "logistic", {"lr": 0.05, **quick}),
    Entry("link", "link", {"lr": 0.05, **quick}),
    Entry("gpcn", "gpcn", {"hidden": 8, **quick}),
)
graph = synthesize(nodes=700, classes=3, degree=5, homophily=0.1, mixing="ring", splits=1, seed=2)


def choose(seconds):
    return auto(graph, serial_executor(graph), out=out, budget=Budget(seconds=seconds), portfolio=portfolio)


def judgements():
    return sorted(str(file.relative_to(out)) for file in out.glob("candidates/*/split-*.json"))


rng, seen, readable = random.Random(0), [], 0
for _ in range(kills):
    child = os.fork()
    if child == 0:
        try:
            torch.set_num_threads(1)
            choose(60)
        finally:
            os._exit(0)
    time.sleep(rng.uniform(0.05, 0.9))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    seen.append(judgements())
    if (out / "auto.json").exists():
        readable += bool(members(out))
result = encode(choose(3))
result["kept"] = [name in judgements() for names in seen for name in names]
result["before"] = [len(names) for names in seen]
result["readable"] = readable
print(json.dumps(result))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_twenty_kills_lose_nothing(tmp_path: Path) -> None:
    """One process imports everything and forks those that are killed, so that moments are of the search."""
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "out"), str(KILLS)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert answer.returncode == 0, answer.stderr
    result = json.loads(answer.stdout.splitlines()[-1])
    assert all(result["kept"])
    assert result["before"] == sorted(result["before"])
    assert result["judged"] >= max(row["score"] for row in result["tried"] if row["score"] is not None) - 1e-9
    assert result["configurations"] >= result["before"][-1]
    assert not list((tmp_path / "out").rglob(".*.tmp"))
