"""Faults that a real Ray cluster meets: each ends in one sentence or in a restart, none in a hang."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpcn.data.parts.manifest import part_folder
from tests.distributed.undisturbed import config_of, train_undisturbed, weights_in, write_parts

pytest.importorskip("ray")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("faults")
    for name, parts in (("parts", 2), ("broken", 2), ("three", 3)):
        write_parts(folder / name, parts)
    (part_folder(folder / "broken", 1) / "features.parquet").unlink()
    full = folder / "full"
    full.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "gpcn-test", str(full)]
    mounted = os.getuid() == 0 and subprocess.run(mount, check=False).returncode == 0
    if not mounted:
        full.rmdir()
    try:
        yield folder
    finally:
        if mounted:
            subprocess.run(["umount", str(full)], check=True)


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, Any]:
    from tests.distributed.cluster_faults import EPOCHS, MODEL

    train_undisturbed(folder / "parts", folder / "undisturbed", config_of(MODEL, EPOCHS))
    words = [sys.executable, "-m", "tests.distributed.cluster_faults", str(folder)]
    nice = os.environ | {"RAY_worker_niceness": "0"}
    answer = subprocess.run(words, cwd=ROOT, env=nice, capture_output=True, text=True, check=False, timeout=7200)
    assert answer.returncode == 0, answer.stderr[-3000:]
    rows = [json.loads(line) for line in answer.stdout.splitlines() if line.startswith("{")]
    return {row["name"]: row for row in rows}


def test_a_missing_part_is_named(answers: dict[str, Any]) -> None:
    sentence = answers["missing part"]["sentence"]
    assert sentence.startswith("CheckpointError: part 1 of")
    assert "features.parquet is missing; write it again with gpcn shard" in sentence


def test_a_cluster_that_is_too_small_says_how_small(answers: dict[str, Any]) -> None:
    assert "ConfigError: the cluster has 2 CPU(s) for 3 workers; add machines" in answers["too few CPUs"]["sentence"]
    assert answers["too few CPUs"]["seconds"] < 30


def test_other_versions_are_refused_once_and_for_all(answers: dict[str, Any]) -> None:
    sentence = answers["other versions"]["sentence"]
    assert sentence.startswith("ConfigError: the worker on ")
    assert "and the machine that started the training 1.0; install the same version on all" in sentence


def test_a_worker_that_hangs_is_replaced(answers: dict[str, Any], folder: Path) -> None:
    assert answers["stopped"]["pid"] > 0
    assert answers["hanging worker"]["sentence"] == "finished"
    assert answers["hanging worker"]["seconds"] > 15  # the others did wait for it
    assert weights_in(folder / "runs" / "stopped") == weights_in(folder / "undisturbed")


def test_full_storage_is_one_sentence_and_with_room_it_goes_on(answers: dict[str, Any], folder: Path) -> None:
    if "full storage" not in answers:
        pytest.skip("a small file system could not be mounted")
    sentence = answers["full storage"]["sentence"]
    assert sentence.startswith("DataError: ")
    assert "No space left on device" in sentence
    assert answers["room again"]["sentence"] == "finished"
    assert weights_in(folder / "full" / "run") == weights_in(folder / "undisturbed")
