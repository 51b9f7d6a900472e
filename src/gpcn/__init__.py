"""Node classification on graphs whose neighbours disagree."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpcn.api.estimator import GPCNClassifier
    from gpcn.api.folder import RunFolder, open_run
    from gpcn.api.start_training import auto, compare, train
    from gpcn.core.errors import (
        CapacityError,
        CheckpointError,
        ConfigError,
        DataError,
        FetchError,
        GpcnError,
        TrainingError,
    )
    from gpcn.data.inspection import inspect
    from gpcn.data.interop import from_frames, from_networkx, from_pyg, to_networkx, to_pyg
    from gpcn.data.load import load
    from gpcn.data.native import write as save
    from gpcn.data.split_plan import SplitPlan
    from gpcn.data.synthetic import synthesize
    from gpcn.data.tables.columns import Columns
    from gpcn.graph import Graph, Split
    from gpcn.graph.splitting import folds, group_splits, random_splits, time_split
    from gpcn.runs.predictions.prediction import Predictions
    from gpcn.training.config import TrainConfig

__version__ = "0.1.0"
__all__ = [
    "CapacityError",
    "CheckpointError",
    "Columns",
    "ConfigError",
    "DataError",
    "FetchError",
    "GPCNClassifier",
    "GpcnError",
    "Graph",
    "Predictions",
    "RunFolder",
    "Split",
    "SplitPlan",
    "TrainConfig",
    "TrainingError",
    "auto",
    "compare",
    "folds",
    "from_frames",
    "from_networkx",
    "from_pyg",
    "group_splits",
    "inspect",
    "load",
    "open_run",
    "random_splits",
    "save",
    "synthesize",
    "time_split",
    "to_networkx",
    "to_pyg",
    "train",
]
_HOMES = {
    "gpcn.data.tables.columns": ("Columns",),
    "gpcn.data.interop": ("from_frames", "from_networkx", "from_pyg", "to_networkx", "to_pyg"),
    "gpcn.data.load": ("load",),
    "gpcn.data.native": ("save",),
    "gpcn.data.synthetic": ("synthesize",),
    "gpcn.core.errors": (
        "CapacityError",
        "CheckpointError",
        "ConfigError",
        "DataError",
        "FetchError",
        "GpcnError",
        "TrainingError",
    ),
    "gpcn.api.estimator": ("GPCNClassifier",),
    "gpcn.graph": ("Graph", "Split"),
    "gpcn.data.inspection": ("inspect",),
    "gpcn.data.split_plan": ("SplitPlan",),
    "gpcn.graph.splitting": ("folds", "group_splits", "random_splits", "time_split"),
    "gpcn.training.config": ("TrainConfig",),
    "gpcn.runs.predictions.prediction": ("Predictions",),
    "gpcn.api.folder": ("RunFolder", "open_run"),
    "gpcn.api.start_training": ("auto", "compare", "train"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_NAMED_THERE = {"save": "write"}


def __getattr__(name: str) -> Any:
    """Each name is imported when it is first asked for: `gpcn --help` needs none of them."""
    if name not in _HOME:
        raise AttributeError(f"module 'gpcn' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), _NAMED_THERE.get(name, name))
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
