"""Real processes that are killed, starved, doubled and lied to: nothing is lost, one sentence says what is wrong."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from gpcn import Graph, save, synthesize
from tests.commands import Killable, process_words
from tests.commands import in_process as run
from tests.sealing import resealed

GRAPH_OPTIONS = {"nodes": 400, "classes": 3, "degree": 6, "splits": 2}

SETTINGS = (
    "--model",
    "gpcn-link",
    "--set",
    "hidden=32",
    "--set",
    "epochs=400",
    "--set",
    "patience=400",
    "--set",
    "dropout=0.4",
)


def refused(*words: object) -> str:
    answer = run(*words)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.count("\n") == 1, answer.stderr
    return answer.stderr


def essence(out: Path) -> dict[str, object]:
    """All of a run that must not depend on interruptions: everything but the seconds."""
    parts: dict[str, object] = {}
    for folder in sorted(out.glob("split-*")):
        result = json.loads((folder / "result.json").read_text())
        result["result"].pop("seconds")
        parts[folder.name] = result["owner"], result["result"]
        with np.load(folder / "predictions.npz") as stored:
            parts[folder.name + "/p"] = stored["probabilities"].tobytes()
        parts[folder.name + "/h"] = (folder / "epochs.csv").read_bytes()
        parts[folder.name + "/w"] = json.loads((folder / "model.json").read_text())["sha256"]
    return parts


@pytest.fixture(scope="module")
def undisturbed(graph_file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    answer = run("train", graph_file, *SETTINGS, "--out", out, "--jobs", 2)
    assert answer.returncode == 0, answer.stderr
    return essence(out)


def test_twenty_kills_at_random_moments_change_nothing(
    graph_file: Path, undisturbed: dict[str, object], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    kills = number = 0
    while kills < 20:
        out = tmp_path / f"run-{number}"
        words = ("train", graph_file, *SETTINGS, "--out", out, "--jobs", 2 if kills % 5 == 0 else 1, "--save-every", 0)
        before = saved(out)
        process = Killable(*words)
        while saved(out) == before and process.poll() is None:  # until it has trained on from where it was
            time.sleep(0.005)
        time.sleep(float(rng.uniform(0, 0.2)))
        if process.poll() is None:
            process.kill()
            kills += 1
        assert process.wait() in (0, -signal.SIGKILL)
        if len(list(out.glob("split-*/result.json"))) == 2:  # survived to its end: compare, and on with a new one
            assert essence(out) == undisturbed
            number += 1
    answer = run("train", graph_file, *SETTINGS, "--out", out)
    assert answer.returncode == 0, answer.stderr
    assert essence(out) == undisturbed
    assert not list(out.rglob("checkpoint*"))
    assert not list(out.rglob(".*.tmp"))


def saved(out: Path) -> list[bytes]:
    """The checkpoints and results there are."""
    files = [*out.glob("split-*/checkpoint.json"), *out.glob("split-*/result.json")]
    contents = []
    for file in sorted(files):
        try:
            contents.append(file.read_bytes())
        except FileNotFoundError:
            contents.append(b"gone")
    return contents


def _wait_for(path: Path, process: Killable) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_polite_stop_says_so_and_can_be_continued(
    number: signal.Signals, code: int, graph_file: Path, undisturbed: dict[str, object], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    words = ("train", graph_file, *SETTINGS, "--out", out, "--jobs", 2, "--save-every", 0)
    process = subprocess.Popen(process_words(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(out.glob("split-*/checkpoint.json")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stderr
    assert stdout == ""
    assert stderr.count("\n") == 1
    assert "the same command" in stderr
    assert run("train", graph_file, *SETTINGS, "--out", out).returncode == 0
    assert essence(out) == undisturbed


@pytest.fixture
def half(graph_file: Path, tmp_path: Path) -> Path:
    """A run that was killed in its first split, with a checkpoint."""
    out = tmp_path / "half"
    words = ("train", graph_file, *SETTINGS, "--out", out, "--jobs", 1, "--splits", "0", "--save-every", 0)
    process = Killable(*words)
    deadline = time.monotonic() + 60
    while not (out / "split-00" / "checkpoint.json").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    process.kill()
    process.wait()
    assert not (out / "split-00" / "result.json").exists(), "the run ended before it could be killed"
    return out


def tensors_of(out: Path) -> Path:
    header = json.loads((out / "split-00" / "checkpoint.json").read_text())
    return out / "split-00" / header["tensors"]


def forge(out: Path, content: bytes) -> None:
    """A hostile file with a checksum to match."""
    import hashlib

    tensors_of(out).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    resealed(out / "split-00" / "checkpoint.json", lambda header: header.update(sha256=digest))


class Hostile:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (os.system, ("touch /tmp/gpcn-checkpoint-ran",))


def test_damaged_and_hostile_checkpoints_are_refused(graph_file: Path, half: Path) -> None:
    words = ("train", graph_file, *SETTINGS, "--out", half, "--splits", "0")
    file, header = tensors_of(half), half / "split-00" / "checkpoint.json"
    good, header_text = file.read_bytes(), header.read_text()

    file.write_bytes(good[: len(good) // 2])
    assert "does not have its checksum: it is cut off or altered" in refused(*words)
    flipped = bytearray(good)
    flipped[-100] ^= 1
    file.write_bytes(bytes(flipped))
    assert "does not have its checksum" in refused(*words)
    file.unlink()
    assert "cannot be read" in refused(*words)
    forge(half, pickle.dumps(Hostile()))
    assert "no readable tensors" in refused(*words)
    forge(half, (2**62).to_bytes(8, "little") + b"{}")
    assert "no readable tensors" in refused(*words)
    assert not Path("/tmp/gpcn-checkpoint-ran").exists()
    file.write_bytes(good)
    for change, sentence in (
        ({"owner": "x"}, "belongs to another run or split"),
        ({"tensors": "../../etc/passwd"}, "is damaged: it names tensors in another folder"),
        ({"format": 9}, "has format 9"),
    ):
        header.write_text(header_text)
        resealed(header, lambda payload, change=change: payload.update(change))  # type: ignore[misc]
        assert sentence in refused(*words)
    header.write_text("{")
    assert "is damaged" in refused(*words)
    header.write_text(header_text)
    assert run(*words).returncode == 0


def test_a_checkpoint_of_another_split_is_refused(graph_file: Path, half: Path) -> None:
    shutil.copytree(half / "split-00", half / "split-01")
    assert "belongs to another run or split" in refused("train", graph_file, *SETTINGS, "--out", half, "--splits", "1")


def test_two_processes_on_one_run_do_not_meet(graph_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    long = ("--set", "epochs=1000000", "--set", "patience=1000000")
    words = ("train", graph_file, *SETTINGS, *long, "--out", out, "--jobs", 1)
    first = Killable(*words)
    try:
        _wait_for(out / "config.json", first)
        assert f"another process is working on {out}" in refused(*words)
    finally:
        first.kill()
        first.wait()


def test_a_full_disk_is_one_sentence_and_the_rest_is_kept(graph_file: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        words = ("train", graph_file, *SETTINGS, "--set", "hidden=256", "--out", small / "run", "--save-every", 0)
        sentence = refused(*words)
        assert "No space left on device" in sentence
        assert not list(small.rglob("*.tmp"))
        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        assert run(*words).returncode == 0
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_an_output_folder_that_cannot_be_written_is_refused(graph_file: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x")
    assert "cannot write to" in refused("train", graph_file, *SETTINGS, "--out", blocked / "run")
    sealed = tmp_path / "sealed"
    sealed.mkdir()
    if subprocess.run(
        ["mount", "--bind", "-o", "ro", str(sealed), str(sealed)], capture_output=True, check=False
    ).returncode:
        pytest.skip("a read-only mount needs root")
    try:
        assert "cannot write to" in refused("train", graph_file, *SETTINGS, "--out", sealed / "run")
    finally:
        subprocess.run(["umount", str(sealed)], check=True)


def test_exploding_training_is_one_sentence(graph_file: Path, tmp_path: Path) -> None:
    words = ("--set", "gamma=256", "--set", "lr=10", "--set", "layers=8", "--set", "dropout=0")
    sentence = refused("train", graph_file, "--model", "gpcn", *words, "--out", tmp_path / "run", "--splits", "0")
    assert "the loss became" in sentence
    assert "lower lr or gamma" in sentence


def test_a_graph_of_one_class_is_refused(tmp_path: Path) -> None:
    graph = synthesize(nodes=60, degree=4, splits=1)
    one = Graph(adjacency=graph.adjacency, features=graph.features, labels=np.zeros(60, int), splits=graph.splits)
    save(one, tmp_path / "one.npz")
    assert "expected at least 2 to tell apart" in refused("train", tmp_path / "one.npz", "--model", "gpcn")
