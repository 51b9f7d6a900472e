"""What a folder holds, and which of its runs are judged and predict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from gpcn.core.errors import ConfigError
from gpcn.distributed.assembled_run import assemble_run
from gpcn.records import layout
from gpcn.runs.compared_runs import ComparedRuns, read_comparison
from gpcn.runs.run import Run
from gpcn.search.auto import members, read_choice, refitted
from gpcn.search.auto.choice_record import AutoChoice

Kind: TypeAlias = Literal["run", "comparison", "study", "auto"]


@dataclass(frozen=True)
class Contents:
    """The runs of a folder.

    Args:
        kind: what wrote the folder.
        judged: the runs whose kept probabilities count for scores; one that is there twice counts twice.
        predicting: the runs that predict, which `auto --refit` has trained again; those judged otherwise.
        choice: what `auto` chose and why.
        comparison: all runs of a comparison; the best of them on validation nodes is the one that is judged.
    """

    kind: Kind
    judged: tuple[Run, ...] = ()
    predicting: tuple[Run, ...] = ()
    choice: AutoChoice | None = None
    comparison: ComparedRuns | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever uses the predictions should know."""
        if self.comparison is None:
            return ()
        name, count = self.comparison.best, len(self.comparison.runs)
        return (f"{name} predicts, the best on validation nodes of {count} compared",)


def read_folder_contents(path: Path) -> Contents:
    """What `path` holds; a folder of no kind is refused as one that is no run."""
    kind = layout.kind_of(path)
    if kind == "auto":
        return Contents("auto", tuple(members(path)), tuple(refitted(path)), choice=read_choice(path))
    if kind == "study":
        return Contents("study")
    if kind == "comparison":
        comparison = read_comparison(path)
        best = (comparison.runs[comparison.best],)
        return Contents("comparison", best, best, comparison=comparison)
    assemble_run(path)
    run = (Run.open(path),)
    return Contents("run", run, run)


def require_folder_models(contents: Contents, path: Path) -> None:
    """Refuse a study, which keeps scores and no models."""
    if contents.kind == "study":
        raise ConfigError(
            f"{path} holds a study, which keeps scores and no models; train its best configuration first, with "
            "open_run(...).train_best(out), or gpcn train with the settings that gpcn tune shows"
        )
