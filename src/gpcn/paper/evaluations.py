"""Evaluations kept on disk: each (dataset, configuration, split) is computed once, whoever asks, whenever.

A file appears whole or not at all, under a name that its question decides. So a killed reproduction goes on where it
was, several processes may share one folder, and changing a recipe leaves what does not depend on it.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from gpcn.core.errors import DataError, TrainingError
from gpcn.data.benchmarks.loading import load_dataset
from gpcn.exec.executor import Running, Task
from gpcn.exec.local import Here, LocalExecutor
from gpcn.records.sealed import read_record, write_sealed
from gpcn.runs.records import ConfigRecord
from gpcn.runs.split_run import split_key
from gpcn.training.config import TrainConfig

KEPT_SCORES = ("test", "val", "train", "epochs", "best_epoch", "parameters", "coefficients", "mix")
load_once = lru_cache(maxsize=2)(load_dataset)
Kind = Literal["train", "probe", "bound", "complexity"]


@dataclass(frozen=True)
class Question(Task):
    """What to evaluate: `train` for scores on test nodes, `probe` for validation nodes alone, the others for theory."""

    dataset: str
    config: TrainConfig
    split: int
    kind: Kind = "train"

    def key(self) -> str:
        """The same for the same question about the same graph."""
        return self.kind + "-" + split_key(self.config, _fingerprint(self.dataset), self.split)[:32]


class EvaluationRecord(Struct, frozen=True):
    """A question and its answer, as they are kept."""

    dataset: str
    split: int
    kind: Kind
    config: ConfigRecord
    answer: dict[str, Any]


Progress = Callable[[int, int, Question], None]


class Evaluations:
    """Answers in `folder`; what is missing is computed by `jobs` processes of one thread each.

    An answer is a mapping with the scores, `seconds` and `commit`, or with `failed`: why there is none.
    """

    def __init__(self, folder: Path, jobs: int | None = None) -> None:
        self.folder, self.jobs = folder, jobs or os.cpu_count() or 1
        self._executor: LocalExecutor[dict[str, Any]] | None = None

    def __enter__(self) -> Evaluations:
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.close()

    def stored(self, question: Question) -> dict[str, Any] | None:
        """The answer on disk, if there is one."""
        path = self._path(question)
        return (
            read_record(path, EvaluationRecord, "delete it to evaluate that again").answer if path.is_file() else None
        )

    def answer(self, questions: Iterable[Question], progress: Progress | None = None) -> list[dict[str, Any]]:
        """The answers in the order of `questions`; those that are not on disk are computed and kept there."""
        questions = list(questions)
        distinct = {question.key(): question for question in questions}
        missing = [question for question in distinct.values() if self.stored(question) is None]
        done = len(distinct) - len(missing)
        for question, answer in self._compute(missing):
            config = ConfigRecord.of(question.config)
            record = EvaluationRecord(question.dataset, question.split, question.kind, config, answer)
            write_sealed(self._path(question), record, new_folders=True)
            done += 1
            if progress is not None:
                progress(done, len(distinct), question)
        answers = [self.stored(question) for question in questions]
        return [answer for answer in answers if answer is not None]

    def _path(self, question: Question) -> Path:
        return self.folder / "evaluations" / question.dataset / f"{question.key()}.json"

    def _compute(self, questions: list[Question]) -> Iterable[tuple[Question, dict[str, Any]]]:
        if questions and self._executor is None:
            here: Here = "always" if self.jobs == 1 else "never"
            self._executor = LocalExecutor(_evaluator, None, self.jobs, here=here)
        return () if self._executor is None else self._executor.run(questions)


def answer_groups(
    evaluations: Evaluations, groups: Sequence[Sequence[Question]], progress: Progress | None = None
) -> list[list[dict[str, Any]]]:
    """The answers to several lists of questions, a list each; what is missing in all of them is computed together."""
    evaluations.answer((question for questions in groups for question in questions), progress)
    return [evaluations.answer(questions) for questions in groups]


def evaluate_question(question: Question) -> dict[str, Any]:
    """The answer, computed here and now."""
    from gpcn.runs.split_run import run_split
    from gpcn.theory.study import bound_and_gap, bound_and_reached
    from gpcn.training.probe import probe

    def train_and_score(*problem: Any) -> dict[str, Any]:
        result = run_split(*problem)
        return {key: getattr(result, key) for key in KEPT_SCORES}

    evaluators: dict[str, Callable[..., dict[str, Any]]] = {
        "train": train_and_score,
        "probe": probe,
        "bound": bound_and_gap,
        "complexity": bound_and_reached,
    }
    start = time.perf_counter()
    graph = load_once(question.dataset)
    try:
        answer = evaluators[question.kind](graph, question.config, question.split)
    except TrainingError as error:
        answer = {"failed": str(error)}
    return {**answer, "seconds": round(time.perf_counter() - start, 3), "commit": code_commit()}


@lru_cache
def code_commit() -> str:
    """The commit of this code, marked where files were changed since; the version where there is no repository."""
    here = Path(__file__)

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here.parent), *arguments]
        completed = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        return completed.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)  # an installed copy inside somebody's repository is not tracked
        return git("rev-parse", "--short=10", "HEAD") + ("+changes" if git("status", "--porcelain", "..") else "")
    except (OSError, subprocess.CalledProcessError):
        return f"gpcn {metadata.version('gpcn')}"


def why_dataset_missing(dataset: str) -> str:
    """What a row says of a dataset that cannot be loaded here; empty where it can."""
    try:
        load_once(dataset)
    except DataError as error:
        return f"not available: {error!s}"
    return ""


@lru_cache
def _fingerprint(dataset: str) -> str:
    return load_once(dataset).fingerprint()


def _evaluator(nothing: None) -> Callable[[Question, Running], dict[str, Any]]:
    """Return what answers a question, in this process or another."""
    return lambda question, running: evaluate_question(question)
