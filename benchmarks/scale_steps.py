"""The steps of benchmarks/scale.py, each in processes of their own, so that peak memory is theirs alone.

    python benchmarks/scale_steps.py shard TABLES PARTS_FOLDER PARTS MEMORY
    python benchmarks/scale_steps.py merge PARTS_FOLDER FOLDER PARTS
    python benchmarks/scale_steps.py train PARTS_FOLDER RANK PARTS PORT

Each prints one line of JSON. The workers of `train` are plain processes over gloo, as Ray Train starts them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

FEATURES, CLASSES, HIDDEN, LAYERS = 10, 4, 16, 2
DEGREE = 20  # links of a node; each is in the table twice, once from each end
MODEL = "gpcn-link"
CHUNK = 500_000  # nodes per file of the tables
EPOCHS = 3


def write_tables(folder: Path, nodes: int) -> None:
    """Tables of a random graph in files of `CHUNK` nodes; those that are there are kept."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, nodes, CHUNK):
        count, number = min(CHUNK, nodes - start), start // CHUNK
        edges, table = folder / f"edges-{number:04d}.parquet", folder / f"nodes-{number:04d}.parquet"
        if table.exists():
            continue
        rng = np.random.default_rng([nodes, number])
        source = np.repeat(np.arange(start, start + count), DEGREE // 2)
        target = rng.integers(0, nodes, source.size)
        labels = rng.integers(0, CLASSES, count)
        columns: dict[str, Any] = {"id": np.arange(start, start + count), "label": labels}
        columns["split"] = np.array(["train", "val", "test"])[rng.integers(0, 3, count)]
        for feature in range(FEATURES):
            columns[f"x{feature}"] = (rng.standard_normal(count) + (labels == feature)).astype(np.float32)
        both = {"source": np.concatenate([source, target]), "target": np.concatenate([target, source])}
        pq.write_table(pa.table(both), edges)
        pq.write_table(pa.table(columns), table)


def shard(folder: str, shards: str, parts: str, memory: str) -> dict[str, Any]:
    """Cut the tables in `folder`; how long it took, and with how much memory."""
    from gpcn.data.tables.columns import Columns
    from gpcn.distributed.sharding.joined_tables import Tables
    from gpcn.distributed.sharding.table_database import matching_files
    from gpcn.distributed.sharding.table_shards import shard_tables

    files = [matching_files(f"{folder}/{stem}-*.parquet", stem) for stem in ("edges", "nodes")]
    start, computing = time.perf_counter(), time.process_time()
    manifest = shard_tables(Tables(*files, Columns(structure="none"), "random"), shards, int(parts), memory=memory)
    seconds, computing = time.perf_counter() - start, time.process_time() - computing
    return {
        "links": manifest.links,
        "seconds": round(seconds, 1),
        "core_seconds": round(computing, 1),
        "links_per_core_second": round(manifest.links / computing),
        "peak_bytes": peak(),
        "bytes_on_disk": sum(file.stat().st_size for file in Path(shards).rglob("*.parquet")),
    }


def merge(shards: str, folder: str, parts: str) -> dict[str, Any]:
    """Neighbouring parts put together, so that there are fewer: what cutting again would give, in less time."""
    import pyarrow.parquet as pq

    from gpcn.data.parts.files import seal_part
    from gpcn.data.parts.manifest import Manifest, part_folder

    manifest, root = Manifest.read(shards), Path(folder)
    size = manifest.parts // int(parts)
    digests = []
    for number in range(int(parts)):
        target = part_folder(root, number)
        target.mkdir(parents=True, exist_ok=True)
        sources = [part_folder(Path(shards), part) for part in range(number * size, (number + 1) * size)]
        names = list(manifest.files[0])
        for name in names:
            with ExitStack() as stack:
                writer = None
                for source in sources:
                    for batch in pq.ParquetFile(source / name).iter_batches(1 << 20):
                        if writer is None:
                            opened = pq.ParquetWriter(target / name, batch.schema, compression="zstd")
                            writer = stack.enter_context(opened)
                        writer.write_batch(batch)
        digests.append(seal_part(target, names, f"merged {number}"))
    offsets = manifest.offsets[::size]
    replace(manifest, offsets=offsets, files=tuple(digests)).write(root)
    return {"parts": int(parts)}


def train(shards: str, rank: str, parts: str, port: str) -> dict[str, Any]:
    """What one worker sends and needs; one epoch to warm up, then some that are measured."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": "lo"}
    import torch
    import torch.distributed as dist

    from gpcn import TrainConfig
    from gpcn.data.parts.manifest import Manifest
    from gpcn.distributed.part_loading import load_part
    from gpcn.distributed.torch_worker_group import TorchWorkerGroup
    from gpcn.nn.engine.memory import reuse_freed_memory
    from gpcn.training.trainer import Trainer

    torch.set_num_threads(1)
    begin = time.perf_counter()
    dist.init_process_group("gloo", rank=int(rank), world_size=int(parts))
    workers, manifest = TorchWorkerGroup(), Manifest.read(shards)
    config = TrainConfig.of(MODEL, hidden=HIDDEN, layers=LAYERS, dropout=0.0)
    reuse_freed_memory()
    problem, data = load_part(Path(shards), manifest, config, workers)
    split: Any = data.splits[0]
    trainer = Trainer(problem, config, split, 0)
    trainer.step()
    loaded, loading_peak = time.perf_counter() - begin, peak()
    sent, start, computing = workers.bytes_sent, time.perf_counter(), time.process_time()
    for _ in range(EPOCHS):
        trainer.step()
    seconds, computing = (time.perf_counter() - start) / EPOCHS, (time.process_time() - computing) / EPOCHS
    sent = (workers.bytes_sent - sent) / EPOCHS
    row = {
        "seconds_per_epoch": round(seconds, 2),
        "core_seconds_per_epoch": round(computing, 2),
        "seconds_until_second_epoch": round(loaded, 1),
        "peak_bytes": peak(),
        "peak_bytes_until_second_epoch": loading_peak,
        "bytes_per_epoch": round(sent),
        "formula_bytes": round(sent_by_formula(trainer, workers, CLASSES)),
        "hidden_width_bytes": round(sent_by_formula(trainer, workers, HIDDEN)),
        "nodes_here": problem.graph.num_nodes,
        "links_here": int(problem.adjacency.rows[0].nnz),  # type: ignore[attr-defined]
        "rows_arriving": _rows_sent(trainer)[2],
        "loss": trainer.history[-1][1],
    }
    dist.destroy_process_group()
    return row


def _rows_sent(trainer: Any) -> tuple[int, int, int]:
    """Rows sent before a product and before its gradient, and rows that arrive before one."""
    operator = trainer.model.bind(trainer.problem.adjacency, None, trainer.problem.graph.num_nodes).operators[0]
    exchanges = [matrix.exchange for matrix in (operator.matrix, operator.transposed)]
    forward, backward = (sum(rows.numel() for rows in exchange.outgoing) for exchange in exchanges)
    return forward, backward, sum(exchanges[0].incoming)


def sent_by_formula(trainer: Any, workers: Any, width: int) -> float:
    """What docs/scale.md says a worker sends in an epoch, with rows of `width` numbers."""
    forward, backward, _ = _rows_sent(trainer)
    share = 2 * (workers.size - 1) / workers.size
    shared = sum(weight.numel() for weight in trainer.shared)
    longest = int(workers.gather_integers([len(trainer.val)]).max())
    return 4 * (LAYERS * width * (forward + backward) + share * shared + longest * CLASSES * (workers.size - 1))


def memory_by_formula(nodes: int, links: int, arriving: int) -> float:
    """What docs/scale.md says a worker with so many nodes and links needs, in bytes, while rows arrive."""
    per_node = 4 * FEATURES + 28 * HIDDEN + 4 * (LAYERS + 2) * CLASSES + 80
    return 0.4e9 + 48 * links + nodes * per_node + 4 * CLASSES * arriving


def peak() -> int:
    """The most memory that this process ever had, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


if __name__ == "__main__":
    print(json.dumps({"shard": shard, "merge": merge, "train": train}[sys.argv[1]](*sys.argv[2:])))
