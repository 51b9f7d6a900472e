"""Rows of a matrix on several workers multiply as the whole one does."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from gpcn.distributed.part_adjacency import PartAdjacency
from tests.distributed.workers_of_a_test import run_workers
from tests.nn.matrix_battery import check_operator, whole_matrix

OFFSETS = {1: (0, 12), 3: (0, 5, 6, 12)}


def check_rows(workers: Any) -> int:
    """Run the battery for the rows of one worker; how many rows of others its product reads."""
    whole, offsets = whole_matrix(), np.array(OFFSETS[workers.size])
    start, stop = offsets[workers.rank : workers.rank + 2]
    links = tuple(sp.csr_array(matrix[start:stop].numpy()) for matrix in (whole, whole.T))
    adjacency = PartAdjacency(links, {}, workers, offsets)
    operator = adjacency.operator("none", self_loops=False, dtype=torch.float64)
    check_operator(operator, whole, slice(start, stop))
    return operator.matrix.halo.shape[1]


def test_rows_of_several_workers_multiply_as_the_whole_matrix() -> None:
    assert all(run_workers(3, check_rows))
    assert run_workers(1, check_rows) == [0]
