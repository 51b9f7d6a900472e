"""Which runs can be explained, exactly or by gradients, and by the model of which split."""

from __future__ import annotations

from collections.abc import Sequence

from gpcn.core.errors import CheckpointError, ConfigError
from gpcn.nn import decomposition, integrated_gradients, zoo
from gpcn.runs.run import Run
from gpcn.tasks.classification import Classification


def can_be_explained(run: Run) -> bool:
    """Whether the run's model is one whose logits, of classes, are a sum over hops."""
    if not isinstance(run.task(), Classification):
        return False
    return decomposition.can_be_decomposed(zoo.specification_of(run.config.model).kind, run.config.hyperparameters)


def why_unexplainable(run: Run) -> str | None:
    """Return why predictions of the run can be explained neither exactly nor by gradients; `None` where they can."""
    if can_be_explained(run):
        return None
    if not isinstance(run.task(), Classification):
        return f"it was asked for {run.graph.task}, and parts are those of classes"
    return integrated_gradients.why_no_gradients(zoo.specification_of(run.config.model).kind)


def explainable_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs whose logits are sums over hops; where none are, those with gradients."""
    explainable = [run for run in runs if can_be_explained(run)] or [
        run for run in runs if why_unexplainable(run) is None
    ]
    if not explainable:
        models = ", ".join(sorted({run.config.model for run in runs}))
        raise ConfigError(
            f"what auto chose cannot be decomposed: {models} have neither a sum over hops nor gradients; train one of "
            f"{', '.join(_models_with_sums())}"
        )
    return explainable


def _models_with_sums() -> list[str]:
    models = zoo.specifications()
    return [model.name for model in models if decomposition.can_be_decomposed(model.kind, model.settle({}))]


def explained_split(run: Run, split: int | None) -> int:
    """A finished split of a run that can be explained, exactly or by gradients."""
    reason = why_unexplainable(run)
    if reason is not None:
        raise ConfigError(
            f"{run.path} holds a {run.config.model}, which cannot be decomposed: {reason}; train another, "
            f"such as {', '.join(_models_with_sums())}"
        )
    finished = run.finished()
    if not finished:
        raise CheckpointError(f"{run.path} has no finished split; run the same gpcn train command to finish it")
    return _first_or_requested(finished, split, f"split {split} of {run.path}")


def common_explained_split(runs: Sequence[Run], split: int | None) -> int:
    """A split that all runs have finished."""
    finished = sorted(set.intersection(*(set(run.finished()) for run in runs)))
    if not finished:
        raise CheckpointError(f"{runs[0].path.parent.parent} has no finished split; run the same command to finish it")
    return _first_or_requested(finished, split, f"split {split}")


def _first_or_requested(finished: Sequence[int], split: int | None, description: str) -> int:
    if split is None:
        return finished[0]
    if split not in finished:
        listed = ", ".join(map(str, finished))
        raise ConfigError(f"{description} is not finished or does not exist; finished: {listed}")
    return split
