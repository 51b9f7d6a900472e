"""The few pickles among the public datasets, read through an allow-list and never before their checksum.

Old SciPy matrices come back as `PickledMatrix`, a bag of attributes that is turned into a matrix by hand, so
that no constructor of a foreign class ever runs.
"""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from typing import Any

import numpy as np
import scipy.sparse as sp

from gpcn.core.errors import DataError
from gpcn.data.archives import read_npy_header


class PickledMatrix:
    """Stands in for `scipy.sparse.csr_matrix` while unpickling."""

    def to_csr(self) -> sp.csr_array:
        """The matrix these attributes describe."""
        state = self.__dict__
        shape = state.get("_shape", state.get("shape"))
        return sp.csr_array((state["data"], state["indices"], state["indptr"]), shape=shape)


_RECONSTRUCT = np.empty(0).__reduce__()[0]
ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("scipy.sparse.csr", "csr_matrix"): PickledMatrix,
    ("scipy.sparse._csr", "csr_matrix"): PickledMatrix,
}


class _AllowList(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return ALLOWED[module, name]
        except KeyError:
            raise DataError(
                f"a pickle asks for {module}.{name}, which is not on the allow-list; "
                "the file is not what it claims to be"
            ) from None


def load_restricted_pickle(content: bytes, name: str) -> Any:
    """Unpickle plain containers, arrays and matrices; anything else is refused."""
    try:
        return _AllowList(io.BytesIO(content), encoding="latin1").load()
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    except Exception as error:
        raise DataError(f"{name} is not a readable pickle: {error}") from error


def load_object_array(content: bytes, name: str) -> list[Any]:
    """The items of a one-dimensional `.npy` file of Python objects."""
    stream = io.BytesIO(content)
    _, _, dtype = read_npy_header(stream, name, allow_objects=True)
    if not dtype.hasobject:
        raise DataError(f"{name} holds {dtype} values; expected one Python object per split")
    return list(load_restricted_pickle(stream.read(), name))
