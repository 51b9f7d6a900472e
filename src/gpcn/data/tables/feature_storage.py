"""How a feature matrix is stored: dense, unless it is wide and nearly empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

SPARSE_BELOW = 0.10
SPARSE_FROM = 32


def compact_features(matrix: Any) -> npt.NDArray[np.float32] | sp.csr_array:
    """`matrix` as CSR where it has at least 32 columns and at most a tenth of its entries are not zero.

    One rule for benchmarks and users' tables, so that the same numbers give the same graph.
    """
    rows, columns = matrix.shape
    filled = matrix.nnz if sp.issparse(matrix) else np.count_nonzero(matrix)
    if columns >= SPARSE_FROM and filled <= SPARSE_BELOW * rows * columns:
        return sp.csr_array(matrix, dtype=np.float32)
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float32)
