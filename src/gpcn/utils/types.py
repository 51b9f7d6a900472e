"""The words in which the rooms talk about arrays."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Metric: TypeAlias = Literal["accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision", "log_loss"]
METRICS: tuple[Metric, ...] = get_args(Metric)
IntVector: TypeAlias = npt.NDArray[np.int64]
FloatMatrix: TypeAlias = npt.NDArray[np.float32]
SparseMatrix: TypeAlias = sp.csr_array
UNKNOWN = -1
ROLES = ("train", "val", "test")
