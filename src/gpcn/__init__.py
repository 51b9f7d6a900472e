"""Node classification on graphs whose neighbours disagree."""

from gpcn.data.columns import Columns
from gpcn.data.interop import from_networkx, from_pyg, to_networkx, to_pyg
from gpcn.data.load import load
from gpcn.data.native import write as save
from gpcn.data.synthetic import synthesize
from gpcn.errors import ConfigError, DataError, FetchError, GpcnError
from gpcn.graph import Graph, Split
from gpcn.inspection import inspect
from gpcn.splits import random_splits

__version__ = "0.1.0"
__all__ = [
    "Columns",
    "ConfigError",
    "DataError",
    "FetchError",
    "GpcnError",
    "Graph",
    "Split",
    "from_networkx",
    "from_pyg",
    "inspect",
    "load",
    "random_splits",
    "save",
    "synthesize",
    "to_networkx",
    "to_pyg",
]
