"""Node classification on graphs whose neighbours disagree."""

from typing import TYPE_CHECKING, Any

from gpcn.data.columns import Columns
from gpcn.data.interop import from_frames, from_networkx, from_pyg, to_networkx, to_pyg
from gpcn.data.load import load
from gpcn.data.native import write as save
from gpcn.data.synthetic import synthesize
from gpcn.errors import CheckpointError, ConfigError, DataError, FetchError, GpcnError, TrainingError
from gpcn.graph import Graph, Split
from gpcn.inspection import inspect
from gpcn.split_plan import SplitPlan
from gpcn.splits import folds, group_splits, random_splits, time_split

if TYPE_CHECKING:
    from gpcn.estimator import GPCNClassifier
    from gpcn.training.config import TrainConfig
    from gpcn.training.runs import train

__version__ = "0.1.0"
__all__ = [
    "CheckpointError",
    "Columns",
    "ConfigError",
    "DataError",
    "FetchError",
    "GPCNClassifier",
    "GpcnError",
    "Graph",
    "Split",
    "SplitPlan",
    "TrainConfig",
    "TrainingError",
    "folds",
    "from_frames",
    "from_networkx",
    "from_pyg",
    "group_splits",
    "inspect",
    "load",
    "random_splits",
    "save",
    "synthesize",
    "time_split",
    "to_networkx",
    "to_pyg",
    "train",
]
_NEED_TORCH = {"GPCNClassifier": "gpcn.estimator", "TrainConfig": "gpcn.training.config", "train": "gpcn.training.runs"}


def __getattr__(name: str) -> Any:
    """What needs PyTorch is imported when it is first asked for."""
    if name not in _NEED_TORCH:
        raise AttributeError(f"module 'gpcn' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_NEED_TORCH[name]), name)
