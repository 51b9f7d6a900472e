"""The models that the paper compares with, and other references, all called like the rest: `model(x, adjacency)`."""

from gpcn.nn.baselines.adagpr import AdaGPR
from gpcn.nn.baselines.appnp import APPNP
from gpcn.nn.baselines.deep import DeepGCN, DeepSAGE
from gpcn.nn.baselines.gcn import GCN, SGC
from gpcn.nn.baselines.gcnii import GCNII
from gpcn.nn.baselines.gode import GODE
from gpcn.nn.baselines.gprgnn import GPRGNN
from gpcn.nn.baselines.h2gcn import H2GCN
from gpcn.nn.baselines.label_propagation import LabelPropagation
from gpcn.nn.baselines.link import LINK, LINKX
from gpcn.nn.baselines.mixhop import MixHop
from gpcn.nn.baselines.mlp import MLP, LogisticRegression
from gpcn.nn.baselines.trees import Trees

__all__ = [
    "APPNP",
    "GCN",
    "GCNII",
    "GODE",
    "GPRGNN",
    "H2GCN",
    "LINK",
    "LINKX",
    "MLP",
    "SGC",
    "AdaGPR",
    "DeepGCN",
    "DeepSAGE",
    "LabelPropagation",
    "LogisticRegression",
    "MixHop",
    "Trees",
]
