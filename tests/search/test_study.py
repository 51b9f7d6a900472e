"""A study as a user meets it: kills, resuming, two drivers, divergence, views."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import random
import re
import sqlite3
import struct
import subprocess
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gpcn import synthesize
from gpcn.core.errors import CheckpointError, ConfigError
from gpcn.search.budget import Budget
from gpcn.search.executors import local_executor, serial_executor
from gpcn.search.ledger import Ledger
from gpcn.search.schedule import Plan
from gpcn.search.space import Space
from gpcn.search.study import best, tune
from gpcn.search.study_header import read_study_header
from tests.commands import Answer, Killable, in_process, process_words

KILLS = 20
GRAPH_OPTIONS = {"nodes": 120, "classes": 3, "degree": 4, "splits": 3, "seed": 6}
GRAPH = synthesize(**GRAPH_OPTIONS)
SETTINGS = ("--set", "epochs=30", "--set", "hidden=8", "--generation", "6")


def run(*words: object) -> Answer:
    return in_process("tune", *words)


def evaluations(folder: Path) -> dict[tuple[int, str], Any]:
    """Every evaluation recorded, without how long it took."""
    outcomes = {}
    for trial in Ledger.open(folder).trials:
        for key, outcome in trial.outcomes.items():
            outcomes[trial.number, key] = {name: value for name, value in outcome.items() if name != "seconds"}
    return outcomes


def integrity(folder: Path) -> str:
    with sqlite3.connect(folder / "study.db") as database:
        return str(database.execute("PRAGMA integrity_check").fetchone()[0])


def recorded(folder: Path) -> int:
    """How many evaluations are in the file, read from outside."""
    if not (folder / "study.db").exists():
        return 0
    try:
        with sqlite3.connect(folder / "study.db", timeout=10) as database:
            sql = "SELECT COUNT(*) FROM trial_user_attributes WHERE key LIKE 'evaluation:%'"
            return int(database.execute(sql).fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_kills_lose_nothing_and_repeat_nothing(graph_file: Path, tmp_path: Path) -> None:
    rng = random.Random(1)
    words = (graph_file, *SETTINGS, "--budget", 18)
    quiet, killed, number = tmp_path / "quiet", tmp_path / "killed", 0
    assert run(*words, "--out", quiet).returncode == 0
    expected = evaluations(quiet)
    kills = 0
    while kills < KILLS:
        start = words if not (killed / "study.json").exists() else ("--resume", killed, "--budget", 18)
        destination = ("--out", killed) if start is words else ()
        workers = ("--jobs", 2) if kills % 5 == 0 else ()  # else it begins alone
        process = Killable("tune", *start, *destination, *workers)
        target = min(recorded(killed) + rng.randint(0, 3), len(expected) - 1)
        while process.poll() is None and recorded(killed) < target:
            time.sleep(0.005)
        time.sleep(rng.random() * 0.05)
        if process.poll() is not None:  # it came to its end before it could be killed: on with another
            assert evaluations(killed) == expected
            number += 1
            killed = tmp_path / f"killed-{number}"
            continue
        process.kill()
        process.wait()
        kills += 1
        if (killed / "study.db").exists():
            assert integrity(killed) == "ok"
    start = ("--resume", killed) if (killed / "study.json").exists() else (graph_file, *SETTINGS, "--out", killed)
    answer = run(*start, "--budget", 18)
    assert answer.returncode == 0, answer.stderr
    assert evaluations(killed) == expected
    states = [[trial.state for trial in Ledger.open(folder).trials] for folder in (quiet, killed)]
    assert states[0] == states[1]
    assert recorded(killed) == len(expected)


def test_a_second_driver_is_told_so(tmp_path: Path) -> None:
    space, plan = Space.of(["gpcn"], fixed={"hidden": 8}), Plan.of([0], 20, size=2)
    from gpcn.core.locking import locked_folder

    executor = local_executor(GRAPH, 1)
    try:
        with locked_folder(tmp_path / "s"), pytest.raises(CheckpointError, match="another process is working on"):
            tune(GRAPH, space, plan, executor, out=tmp_path / "s", budget=Budget(configurations=2))
    finally:
        executor.close()


def test_divergence_is_marked_and_the_study_ends(graph_file: Path, tmp_path: Path) -> None:
    words = ("--model", "gpcn", "--try", "gamma=0.25,256", "--try", "layers=32,40", "--set", "lr=0.05")
    answer = run(graph_file, *SETTINGS, *words, "--budget", 10, "--out", tmp_path / "s", "--json")
    assert answer.returncode == 0, answer.stderr
    summary = json.loads(answer.stdout)
    assert summary["states"]["diverged"] >= 1
    assert summary["states"]["running"] == 0
    assert sum(summary["states"].values()) == summary["configurations"] == 10
    for row in summary["diverged"]:
        assert row["settings"]["gamma"] == 256
        assert "lower lr or gamma" in row["why"]
    assert all(row["settings"]["gamma"] == 0.25 for row in summary["best"][:1])
    shown = run("--show", tmp_path / "s")
    assert "diverged" in shown.stdout
    assert "kept in" in shown.stdout


def test_the_best_is_what_validation_says_and_test_scores_are_beside_it(tmp_path: Path) -> None:
    space, plan = Space.of(["gpcn", "mlp"], fixed={"hidden": 8}), Plan.of(range(3), 30, size=6)
    executor = serial_executor(GRAPH)
    try:
        first = tune(GRAPH, space, plan, executor, out=tmp_path / "s", budget=Budget(configurations=6))
        more = tune(GRAPH, space, plan, executor, out=tmp_path / "s", budget=Budget(configurations=12))
    finally:
        executor.close()
    assert [trial.point for trial in first.trials] == [trial.point for trial in more.trials[:6]]
    assert len(more.trials) == 12
    (top, score, rule), *_ = best(more)
    assert top.state == "complete"
    complete = [trial.value for trial in more.trials if trial.state == "complete"]
    assert score == max(value for value in complete if value is not None)
    assert all(rule in outcome["test"] for outcome in top.outcomes.values())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "name one of"),
        (("g.npz",), "needs a folder"),
        (("g.npz", "--out", "s", "--engine", "slurm"), "expected local or ray"),
        (("g.npz", "--out", "s", "--budget", "soon"), "such as 200 or 30m"),
        (("g.npz", "--out", "s", "--space", "wide"), "expected default or paper"),
        (("g.npz", "--out", "s", "--try", "gama=1"), "did you mean gamma"),
        (("--resume", "nothing"), "is not a study"),
        (("--show", "nothing"), "is not a study"),
    ],
)
def test_bad_words_are_one_sentence(words: tuple[str, ...], expected: str, graph_file: Path) -> None:
    answer = in_process("tune", *words, cwd=graph_file.parent)
    assert answer.returncode == 2
    assert expected in answer.stderr
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 2}', '{"format": 99}', '{"format": 2, "space": 3, "plan": 4}'])
def test_a_damaged_header_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(CheckpointError, match="study.json"):
        read_study_header(tmp_path)


def test_another_study_is_not_overwritten(tmp_path: Path) -> None:
    plan, executor = Plan.of([0], 10, size=2), serial_executor(GRAPH)
    options: dict[str, Any] = {"out": tmp_path / "s", "budget": Budget(configurations=2)}
    try:
        tune(GRAPH, Space.of(["mlp"], fixed={"hidden": 4}), plan, executor, **options)
        with pytest.raises(ConfigError, match="holds another study"):
            tune(GRAPH, Space.of(["mlp"], fixed={"hidden": 8}), plan, executor, **options)
    finally:
        executor.close()


def test_time_is_kept(graph_file: Path, tmp_path: Path) -> None:
    long = ("--set", "epochs=1000000", "--set", "patience=1000000")
    answer = run(graph_file, *long, "--budget", "3s", "--out", tmp_path / "s", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["evaluations"] == 0


def test_on_a_terminal_a_table_of_the_best_lives_while_it_runs(graph_file: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
    words = process_words(
        "tune", graph_file, *SETTINGS, "--set", "epochs=10", "--model", "gpcn", "--budget", 6, "--out", tmp_path / "s"
    )
    env = os.environ | {"TERM": "xterm"}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs, env=env, text=True)
    os.close(theirs)
    seen = b""
    with suppress(OSError):  # the other side hangs up at the end
        while part := os.read(ours, 65536):
            seen += part
    os.close(ours)
    printed, _ = process.communicate()
    assert process.returncode == 0, seen.decode()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert "best so far" in shown
    assert re.search(r"\d of 6 ended, \d+ evaluations/min", shown)
    assert re.search(r"#\d gpcn +\d+\.\d\d +\d +layers=", shown)
    assert "6 of" in printed.splitlines()[0]
