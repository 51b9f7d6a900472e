"""The words in which the rooms talk about arrays."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

IntVector: TypeAlias = npt.NDArray[np.int64]
FloatMatrix: TypeAlias = npt.NDArray[np.float32]
SparseMatrix: TypeAlias = sp.csr_array
UNKNOWN = -1
