from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from gpcn import DataError, Graph, Split, load, save, synthesize
from gpcn.data import native
from gpcn.data.archives import read_npz
from tests.graphs import make_graph

VARIANTS = {
    "plain": {},
    "sparse": {"features": sp.csr_array(np.eye(6))},
    "weighted": {"weights": np.arange(1, 7) / 2},
    "named": {
        "node_ids": ["a", "βeta", "", "d d", "e,e", "ƒ"],
        "label_names": ["no", "yes"],
        "feature_names": ["x", "y"],
    },
    "bare": {"features": np.empty((6, 0)), "splits": ()},
    "calibrated": {"splits": (Split(train=[0, 1], val=[2], calibration=[3, 4]),)},
    "noted": {"notes": ("one", "two"), "metric": "roc_auc"},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_graph_survives_the_round_trip(variant: str, tmp_path: Path) -> None:
    graph = make_graph(**VARIANTS[variant])
    path = tmp_path / "g.npz"
    save(graph, path)
    back = load(path)
    assert back.equals(graph)
    for field in ("name", "metric", "node_ids", "label_names", "feature_names", "notes", "weighted", "directed"):
        assert getattr(back, field) == getattr(graph, field)


def test_the_same_graph_gives_the_same_bytes(tmp_path: Path, small: Graph) -> None:
    save(small, tmp_path / "a.npz")
    save(small, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def rewritten(tmp_path: Path, **changes: object) -> Path:
    path = tmp_path / "g.npz"
    save(make_graph(node_ids="abcdef"), path)
    arrays = read_npz(path, "g")
    meta = json.loads(arrays["meta"].tobytes())
    for key, value in changes.items():
        if key in native.GraphMeta.__struct_fields__:
            meta[key] = value
        elif value is None:
            del arrays[key.replace("__", ".")]
        else:
            arrays[key.replace("__", ".")] = value  # type: ignore[assignment]
    if "meta" not in changes:
        arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 99}, "format version 99; this gpcn reads version 1"),
        ({"format": "other"}, "not in the gpcn format"),
        ({"meta": np.frombuffer(b"{", np.uint8)}, "no readable description"),
        ({"name": 3}, "name is 3; expected text"),
        ({"label_names": "ab"}, "label_names is 'ab'; expected a list"),
        ({"labels": None}, "lacks the array 'labels'"),
        ({"labels": np.zeros((2, 3), np.int64)}, "."),
        ({"adjacency__indices": np.array([1, 3, 2, 3, 4, 77], np.int32)}, "damaged"),
        ({"adjacency__indptr": np.array([0, 2, -1, 4, 5, 6, 6], np.int32)}, "damaged"),
        ({"adjacency__indptr": np.array([0, 2], np.int32)}, "damaged"),
        ({"splits": np.full((1, 6), 9, np.uint8)}, "unknown codes"),
        ({"splits": np.zeros((1, 4), np.uint8)}, "splits has shape"),
        ({"labels": np.zeros(6, np.float64)}, "labels hold float64 values"),
        ({"adjacency__indices": np.array([1.0, 3, 2, 3, 4, 5])}, "indices is float64"),
        ({"features": np.zeros((6, 2), np.complex64)}, "features is complex64"),
        ({"meta": np.frombuffer(b"[" * 100_000, np.uint8)}, "no readable description"),
        ({"notes": [1]}, r"notes\[0\] is 1; expected text"),
        ({"node_ids__text": np.full(6, 255, np.uint8)}, "not UTF-8"),
        ({"node_ids__ends": np.array([1, 2], np.int64)}, "do not fill their text"),
        ({"node_ids__ends": None}, "."),
    ],
)
def test_damaged_files_are_refused_in_one_sentence(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load(rewritten(tmp_path, **changes))
    assert "\n" not in str(caught.value)


def test_a_foreign_npz_is_told_what_is_expected(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.zeros(3))
    with pytest.raises(DataError, match="holds the arrays a; expected a file written by gpcn convert"):
        load(tmp_path / "x.npz")


def test_the_layout_of_heterophilous_graphs_is_read_too(tmp_path: Path) -> None:
    masks = np.eye(3, dtype=bool)[[0, 1, 2, 0]]
    np.savez(
        tmp_path / "h.npz",
        edges=np.array([[0, 1], [1, 2]]),
        node_features=np.ones((4, 2)),
        node_labels=np.array([0, 1, 1, 0]),
        train_masks=masks[:, 0][None],
        val_masks=masks[:, 1][None],
        test_masks=masks[:, 2][None],
    )
    graph = load(tmp_path / "h.npz")
    assert (graph.num_edges, graph.directed, len(graph.splits)) == (2, True, 1)


WRITER = """
import sys
from pathlib import Path
from gpcn import synthesize, save
graph = synthesize(nodes=20000, seed=int(sys.argv[2]), splits=1)
print("ready", flush=True)
while True:
    save(graph, Path(sys.argv[1]))
"""


def test_a_kill_while_writing_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    fingerprints = {synthesize(nodes=20000, seed=seed, splits=1).fingerprint() for seed in (1, 2)}
    rng = np.random.default_rng(0)
    for round_ in range(4):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(1 + round_ % 2)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        while not path.exists():
            time.sleep(0.005)
        time.sleep(float(rng.uniform(0, 0.1)))
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert native.read(path).fingerprint() in fingerprints


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, small: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(native, "_save", fail)
    with pytest.raises(DataError, match="No space left on device"):
        save(small, tmp_path / "g.npz")
    assert list(tmp_path.iterdir()) == []
