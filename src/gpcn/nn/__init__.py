"""Models as PyTorch modules: `model(x, edge_index)`."""

from gpcn.nn.base import NodeClassifier, inputs_of
from gpcn.nn.engine.adjacency import Adjacency
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.gpcn import AGPCN, GPCN, AGPCNLink, GeneralizedGPCN, GPCNLink
from gpcn.nn.multi_gpcn import MultiGPCN, MultiGPCNLink
from gpcn.nn.residual import ResidualGCN

__all__ = [
    "AGPCN",
    "GPCN",
    "AGPCNLink",
    "Adjacency",
    "GPCNLink",
    "GeneralizedGPCN",
    "MultiGPCN",
    "MultiGPCNLink",
    "NodeClassifier",
    "ResidualGCN",
    "SparseOperator",
    "inputs_of",
]
