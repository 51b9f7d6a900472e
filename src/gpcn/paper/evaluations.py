"""Evaluations kept on disk: each (dataset, configuration, split) is computed once, whoever asks, whenever.

A file appears whole or not at all, under a name that its question decides. So a killed reproduction goes on where it
was, several processes may share one folder, and changing a recipe leaves what does not depend on it.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from gpcn.atomic import replacing
from gpcn.data.benchmark import load_dataset
from gpcn.errors import CheckpointError, DataError, TrainingError
from gpcn.training.config import TrainConfig
from gpcn.training.splitrun import split_key
from gpcn.training.workers import Crew, Send

KEPT = ("test", "val", "train", "epochs", "best_epoch", "parameters", "coefficients", "mix")
load_once = lru_cache(maxsize=2)(load_dataset)
Kind = Literal["train", "probe", "bound", "complexity"]


@dataclass(frozen=True)
class Question:
    """What to evaluate: `train` for scores on test nodes, `probe` for validation nodes alone, the others for theory."""

    dataset: str
    config: TrainConfig
    split: int
    kind: Kind = "train"

    def key(self) -> str:
        """The same for the same question about the same graph."""
        return self.kind + "-" + split_key(self.config, _fingerprint(self.dataset), self.split)[:32]


Progress = Callable[[int, int, Question], None]


class Evaluations:
    """Answers in `folder`; what is missing is computed by `jobs` processes of one thread each.

    An answer is a mapping with the scores, `seconds` and `commit`, or with `failed`: why there is none.
    """

    def __init__(self, folder: Path, jobs: int | None = None) -> None:
        self.folder, self.jobs = folder, jobs or os.cpu_count() or 1
        self._crew: Crew | None = None

    def __enter__(self) -> Evaluations:
        return self

    def __exit__(self, *_: object) -> None:
        if self._crew is not None:
            self._crew.stop()
            self._crew = None

    def known(self, question: Question) -> dict[str, Any] | None:
        """The answer on disk."""
        path = self._path(question)
        try:
            told = json.loads(path.read_bytes())
            return dict(told["answer"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise CheckpointError(f"{path} is damaged; delete it to evaluate that again") from error

    def answer(self, questions: Iterable[Question], progress: Progress | None = None) -> list[dict[str, Any]]:
        """The answers in the order asked."""
        asked = list(questions)
        different = {each.key(): each for each in asked}
        missing = [each for each in different.values() if self.known(each) is None]
        done = len(different) - len(missing)
        for question, answer in self._compute(missing):
            told = {"dataset": question.dataset, "split": question.split, "kind": question.kind}
            told |= {"config": question.config.to_json(), "answer": answer}
            with replacing(self._path(question)) as stream:
                stream.write(json.dumps(told, allow_nan=False).encode())
            done += 1
            if progress is not None:
                progress(done, len(different), question)
        found = [self.known(each) for each in asked]
        return [each for each in found if each is not None]

    def _path(self, question: Question) -> Path:
        return self.folder / "evaluations" / question.dataset / f"{question.key()}.json"

    def _compute(self, questions: list[Question]) -> Iterable[tuple[Question, dict[str, Any]]]:
        if not questions:
            return
        crew, running = self._workers(), 0
        queue = list(reversed(questions))
        try:
            while running or queue:
                while queue and running < self.jobs:
                    question = queue.pop()
                    crew.submit(question, question)
                    running += 1
                for question, (kind, payload) in crew.messages(None):
                    if kind == "failed":
                        raise payload
                    running -= 1
                    yield question, payload
        finally:
            if running:  # somebody stopped, or a worker failed: what the others do is asked again another time
                crew.stop()

    def _workers(self) -> Crew:
        self._crew = self._crew or Crew(_evaluator)
        return self._crew


def evaluate(question: Question) -> dict[str, Any]:
    """The answer, computed here and now."""
    from gpcn.theory.study import bound_and_gap, bound_and_reached
    from gpcn.training.probe import probe
    from gpcn.training.splitrun import run_split

    def scores(*about: Any) -> dict[str, Any]:
        result = run_split(*about)
        return {key: result[key] for key in KEPT}

    ways: dict[str, Callable[..., dict[str, Any]]] = {
        "train": scores,
        "probe": probe,
        "bound": bound_and_gap,
        "complexity": bound_and_reached,
    }
    start = time.perf_counter()
    graph = load_once(question.dataset)
    try:
        answer = ways[question.kind](graph, question.config, question.split)
    except TrainingError as error:
        answer = {"failed": str(error)}
    return {**answer, "seconds": round(time.perf_counter() - start, 3), "commit": commit()}


@lru_cache
def commit() -> str:
    """The commit of this code, marked where files were changed since; the version where there is no repository."""
    here = Path(__file__)

    def git(*words: str) -> str:
        command = ["git", "-C", str(here.parent), *words]
        told = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        return told.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)  # an installed copy inside somebody's repository is not tracked
        return git("rev-parse", "--short=10", "HEAD") + ("+changes" if git("status", "--porcelain", "..") else "")
    except (OSError, subprocess.CalledProcessError):
        return f"gpcn {metadata.version('gpcn')}"


def why_missing(dataset: str) -> str:
    """What a row says of a dataset that cannot be loaded here; empty where it can."""
    try:
        load_once(dataset)
    except DataError as error:
        return f"not available: {error}"
    return ""


@lru_cache
def _fingerprint(dataset: str) -> str:
    return load_once(dataset).fingerprint()


def _evaluator() -> Callable[[Send, Question], dict[str, Any]]:
    """In another process: what answers a question."""
    import torch

    torch.set_num_threads(1)
    return lambda send, question: evaluate(question)
