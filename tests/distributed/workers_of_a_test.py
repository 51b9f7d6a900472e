"""Workers as plain processes over gloo, each with its rows of a graph; what they return comes back in order of rank.

They are forked from a server that has imported everything, for importing PyTorch takes longer than most tests.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from gpcn import Graph, TrainConfig
from gpcn.distributed.part_adjacency import PartAdjacency
from gpcn.distributed.part_problem import PartGraph, PartProblem
from gpcn.distributed.torch_worker_group import TorchWorkerGroup
from gpcn.graph import Split
from gpcn.nn.engine.operator import SparseOperator
from gpcn.training.problem import Structure, View


def offsets_of(graph: Graph, parts: int) -> Any:
    return np.linspace(0, graph.num_nodes, parts + 1).astype(np.int64)


def part_of(graph: Graph, config: TrainConfig, workers: TorchWorkerGroup) -> PartProblem:
    """The problem of one worker, cut out of a graph that fits into memory."""
    if config["normalize_features"]:
        graph = graph.with_row_normalized_features()
    offsets = offsets_of(graph, workers.size)
    start, stop = offsets[workers.rank], offsets[workers.rank + 1]

    def rows(matrix: Any) -> Any:
        outgoing = sp.csr_array(matrix[start:stop]).astype(np.float64)
        if not graph.directed:
            return outgoing, outgoing
        return outgoing, sp.csr_array(sp.csr_array(matrix.T)[start:stop]).astype(np.float64)

    links = PartAdjacency(
        rows(graph.adjacency),
        {name: rows(matrix) for name, matrix in graph.relations.items()},
        workers,
        offsets,
        direction=config["direction"],
    )
    dtype = torch.get_default_dtype()
    if graph.has_sparse_features:
        x: Any = SparseOperator.from_scipy(graph.features[start:stop], dtype=dtype)
    else:
        x = torch.tensor(graph.features[start:stop]).to(dtype)
    about = PartGraph(graph.name, int(stop - start), graph.num_features, graph.metric, graph.task)
    labels = torch.tensor(graph.labels[start:stop])
    view = View(x, links)
    return PartProblem(
        about,
        view,
        view,
        labels,
        torch.device("cpu"),
        Structure.of(graph),
        workers,
        offsets=offsets,  # type: ignore[arg-type]
    )


def split_of(split: Split, workers: TorchWorkerGroup, graph: Graph) -> Split:
    offsets = offsets_of(graph, workers.size)
    start, stop = offsets[workers.rank], offsets[workers.rank + 1]

    def here(nodes: Any) -> Any:
        return nodes[(nodes >= start) & (nodes < stop)] - start

    return SimpleNamespace(train=here(split.train), val=here(split.val), test=here(split.test))  # type: ignore[return-value]


def run_workers(count: int, work: Callable[..., Any], *about: Any) -> list[Any]:
    """`work(workers, *about)` in `count` processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.get_context("forkserver").set_forkserver_preload(["tests.preloaded"])
        env = dict(os.environ)  # the server's is from when it was started
        mp.start_processes(_begin, (count, port, env, folder, work, about), nprocs=count, start_method="forkserver")
        return [pickle.loads((Path(folder) / str(rank)).read_bytes()) for rank in range(count)]


def _begin(
    rank: int, count: int, port: int, env: dict[str, str], folder: str, work: Callable[..., Any], about: tuple[Any, ...]
) -> None:
    os.environ |= env | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    dist.init_process_group("gloo", rank=rank, world_size=count)
    try:
        (Path(folder) / str(rank)).write_bytes(pickle.dumps(work(TorchWorkerGroup(), *about)))
    finally:
        if dist.is_initialized():  # a worker that gives up has left already
            dist.destroy_process_group()
