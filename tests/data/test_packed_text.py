"""Names of nodes on disk: as much room as they need, whatever the longest one is."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpcn import CheckpointError, ConfigError, TrainConfig, synthesize
from gpcn.data.packed_text import pack_texts, read_node_ids, unpack_texts, write_node_ids
from gpcn.runs.predictions import prediction
from gpcn.runs.predictions.prediction import predict, write
from gpcn.runs.run import Run
from gpcn.runs.training import train

CONFIG = TrainConfig.of("gpcn", hidden=4, epochs=3)
LONG = ["x" * 20_000, *(str(number) for number in range(1, 500))]


@pytest.mark.parametrize("names", [["a", "", "βγ", "d\nd"], ["one"], LONG])
def test_texts_come_back_as_they_were(names: list[str], tmp_path: Path) -> None:
    assert unpack_texts(pack_texts(names, "k"), "k") == names
    write_node_ids(names, tmp_path / "node_ids.npz")
    assert read_node_ids(tmp_path / "node_ids.npz") == names


def test_one_long_name_does_not_widen_all_others(tmp_path: Path) -> None:
    graph = replace(synthesize(nodes=500, degree=4), node_ids=LONG)
    train(graph, CONFIG, out=tmp_path / "run", splits=[0], jobs=1)
    with zipfile.ZipFile(tmp_path / "run" / "node_ids.npz") as archive:
        assert sum(member.file_size for member in archive.infolist()) < 30_000
    run = Run.open(tmp_path / "run")
    assert run.node_ids() == LONG
    assert predict(run, graph).new_nodes == 0


@pytest.mark.parametrize(
    "arrays",
    [
        {"node_ids": np.zeros(3)},
        {"node_ids.text": np.zeros(3, np.uint8)},
        {"node_ids.text": np.zeros(3, np.uint8), "node_ids.ends": np.array([1, 7])},
        {"node_ids.text": np.zeros(3, np.uint8), "node_ids.ends": np.array([-1, 3])},
        {"node_ids.text": np.array([255], np.uint8), "node_ids.ends": np.array([1])},
        {"node_ids.text": np.zeros(3), "node_ids.ends": np.array([[3]])},
    ],
)
def test_damaged_names_are_refused(arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
    np.savez(tmp_path / "node_ids.npz", **arrays)
    with pytest.raises(CheckpointError, match="holds no readable node ids"):
        read_node_ids(tmp_path / "node_ids.npz")


def test_predictions_as_npz_refuse_what_would_not_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = replace(synthesize(nodes=500, degree=4), node_ids=LONG)
    train(graph, CONFIG, out=tmp_path / "run", splits=[0], jobs=1)
    predictions = predict(Run.open(tmp_path / "run"), graph)
    monkeypatch.setattr(prediction, "LARGEST_TEXTS", 1 << 20)
    with pytest.raises(ConfigError, match="500 node ids in 40,000,000 bytes.*write a .parquet or .csv"):
        write(predictions, tmp_path / "p.npz")
    write(predictions, tmp_path / "p.parquet")
