"""Several models trained on the same splits of one graph, and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeAlias

from gpcn.core.errors import ConfigError, Option
from gpcn.graph import Graph
from gpcn.records import layout
from gpcn.runs.comparison import MAJORITY, Comparison, compare
from gpcn.runs.split_workers import SplitWorkers
from gpcn.runs.training import train
from gpcn.training.config import TrainConfig, declared_settings
from gpcn.training.progress import Listener
from gpcn.training.settle import settle

"""What is compared where nobody says what."""
ModelProgress: TypeAlias = Callable[[str, str], AbstractContextManager[Listener | None]]


def train_models(
    graph: Graph,
    models: Sequence[str],
    settings: dict[str, Any],
    *,
    out: Path | None,
    seed: int = 0,
    jobs: int | None = 1,
    progress: ModelProgress | None = None,
    **options: Any,
) -> Comparison:
    """Train every one of `models` and compare; settings that no model has are refused.

    Args:
        graph: what to train on.
        models: names that `gpcn models` lists; the majority, which is always compared with, may be among them.
        settings: what to set; it applies to every model that has it.
        out: a folder for a run per model; without one nothing is kept.
        seed: decides every random draw.
        jobs: splits at once, as for `runs.training.train`.
        progress: called with model and metric, gives a context in which that model trains and what to tell of it.
        options: as for `runs.training.train`.

    Returns:
        What `runs.comparison.compare` gives.
    """
    names = list(dict.fromkeys(name for name in models if name != MAJORITY))
    if not names:
        raise ConfigError(f"{Option('models')} names no model; expected names such as mlp,gpcn")
    available = {name: declared_settings(name) for name in names}
    stray = [key for key in settings if not any(key in allowed for allowed in available.values())]
    if stray:
        raise ConfigError(f"none of {', '.join(names)} has a setting {stray[0]!r}; see gpcn models NAME")
    if out is not None:
        layout.refuse_folder_of_other_kind(out)
    results = []
    with SplitWorkers(graph, jobs) as workers:
        for workers.configs_to_follow, name in zip(reversed(range(len(names))), names, strict=True):
            chosen = {key: value for key, value in settings.items() if key in available[name]}
            config = settle(TrainConfig.of(name, seed=seed, **chosen), graph)
            folder = None if out is None else out / name
            with nullcontext() if progress is None else progress(name, graph.metric) as listener:
                results.append(train(graph, config, out=folder, progress=listener, workers=workers, **options))
    return compare(graph, results)
