"""Evaluations: computed once, whole or absent, the same whoever computes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpcn.core.errors import CheckpointError
from gpcn.paper import evaluations
from gpcn.paper.evaluations import Evaluations, Question, code_commit
from gpcn.training.config import TrainConfig


@pytest.fixture(autouse=True)
def with_mirror(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPCN_MIRROR", str(mirror))


def question(split: int = 0, kind: str = "train", **settings: object) -> Question:
    config = TrainConfig.of("mlp", hidden=8, epochs=20, **settings)
    return Question("texas", config, split, kind)  # type: ignore[arg-type]


def scores(answers: list[dict[str, object]]) -> list[object]:
    return [(answer["test"], answer["val"], answer["epochs"]) for answer in answers]


def test_one_process_or_two_give_the_same(tmp_path: Path) -> None:
    questions = [question(split) for split in range(3)]
    with Evaluations(tmp_path / "one", 1) as one, Evaluations(tmp_path / "two", 2) as two:
        first, second = one.answer(questions), two.answer(questions)
    assert scores(first) == scores(second)
    assert len({answer["test"] for answer in first}) > 1


def test_what_is_stored_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Evaluations(tmp_path, 1) as first:
        stored = first.answer([question(0)])
    monkeypatch.setattr(evaluations, "evaluate_question", lambda question: pytest.fail("it computed again"))
    assert Evaluations(tmp_path, 1).answer([question(0), question(0)]) == stored * 2


def test_the_key_depends_on_kind_split_and_every_setting() -> None:
    keys = {variant.key() for variant in (question(), question(1), question(0, "probe"), question(lr=0.02))}
    assert len(keys) == 4


def test_a_training_that_diverges_is_an_answer(tmp_path: Path) -> None:
    wild = Question("texas", TrainConfig.of("gpcn", hidden=8, gamma=1e6, layers=8, epochs=20), 0)
    with Evaluations(tmp_path, 1) as some:
        (answer,) = some.answer([wild])
    assert "lower lr or gamma" in answer["failed"]
    assert "test" not in answer


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    with Evaluations(tmp_path, 1) as some:
        some.answer([question()])
        (file,) = tmp_path.rglob("*.json")
        record = json.loads(file.read_text())
        assert record["dataset"] == "texas"
        assert record["config"]["model"] == "mlp"
        file.write_text(file.read_text()[:40])
        with pytest.raises(CheckpointError, match="delete it to evaluate that again"):
            some.answer([question()])


def test_the_commit_is_that_of_this_repository_or_the_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert code_commit()
    code_commit.cache_clear()
    monkeypatch.setattr(evaluations, "__file__", str(tmp_path / "evaluations.py"))
    assert code_commit().startswith("gpcn ")
    code_commit.cache_clear()
