"""Graphs in parts: what cutting and training cost, measured against the formulas of docs/scale.md.

    python benchmarks/scale.py                      # 1 to 8 million nodes, 20 edges each, 1, 2 and 4 workers
    python benchmarks/scale.py --nodes 20000 --parts 1,2 --work /tmp/scale --out /tmp/scale.jsonl

Every measurement is one line of `--out`; a line that is there is not measured again. Each is made by processes of their
own, so that peak memory is theirs alone. The workers are plain processes over gloo, as Ray Train starts them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

DEGREE, FEATURES, CLASSES, HIDDEN, LAYERS = 20, 16, 5, 64, 4
CHUNK = 500_000  # nodes per file of the tables
EPOCHS = 3


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--nodes", default="1000000,2000000,4000000,8000000")
    options.add_argument("--parts", default="1,2,4")
    options.add_argument("--model", default="gpcn-link")
    options.add_argument("--memory", default="2GB", help="of the database that cuts tables")
    options.add_argument("--work", type=Path, default=Path("/tmp/gpcn-scale"), help="folder for tables and parts")
    options.add_argument("--out", type=Path, default=Path("results/scale.jsonl"))
    options.add_argument("--child", nargs="*", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        {"shard": shard_child, "train": train_child}[given.child[0]](*given.child[1:])
        return
    for nodes in map(int, given.nodes.split(",")):
        folder = given.work / str(nodes)
        write_tables(folder, nodes)
        for parts in map(int, given.parts.split(",")):
            shards = folder / f"parts-{parts}"
            measure(
                given.out,
                {"what": "shard", "nodes": nodes, "parts": parts, "memory": given.memory},
                partial(cut, folder, shards, parts, given.memory),
            )
            measure(
                given.out,
                {"what": "train", "nodes": nodes, "parts": parts, "model": given.model},
                partial(train, shards, parts, given.model),
            )


def measure(out: Path, key: dict[str, Any], work: Any) -> None:
    """Append what `work` measures to `out`, unless it is there."""
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    if any(all(row.get(name) == value for name, value in key.items()) for row in rows):
        return
    row = key | work()
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a") as stream:
        stream.write(json.dumps(row) + "\n")
    print(json.dumps(row), flush=True)


def write_tables(folder: Path, nodes: int) -> None:
    """Tables of a random graph in files of `CHUNK` nodes; those that are there are kept."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, nodes, CHUNK):
        count, number = min(CHUNK, nodes - start), start // CHUNK
        edges, table = folder / f"edges-{number:04d}.parquet", folder / f"nodes-{number:04d}.parquet"
        if table.exists():
            continue
        rng = np.random.default_rng([nodes, number])
        ends = {
            "source": np.repeat(np.arange(start, start + count), DEGREE),
            "target": rng.integers(0, nodes, count * DEGREE),
        }
        labels = rng.integers(0, CLASSES, count)
        columns: dict[str, Any] = {"id": np.arange(start, start + count), "label": labels}
        columns["split"] = np.array(["train", "val", "test"])[rng.integers(0, 3, count)]
        for feature in range(FEATURES):
            columns[f"x{feature}"] = (rng.standard_normal(count) + (labels == feature)).astype(np.float32)
        pq.write_table(pa.table(ends), edges)
        pq.write_table(pa.table(columns), table)


def child(*words: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, __file__, "--child", *map(str, words)], stdout=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    text, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"a measurement failed with exit code {process.returncode}")
    return dict(json.loads(text.splitlines()[-1]))


def cut(folder: Path, shards: Path, parts: int, memory: str) -> dict[str, Any]:
    return answer(child("shard", folder, shards, parts, memory))


def shard_child(folder: str, shards: str, parts: str, memory: str) -> None:
    from gpcn.data.columns import Columns
    from gpcn.distributed.joined_tables import Tables
    from gpcn.distributed.table_database import files_of
    from gpcn.distributed.table_shards import shard_tables

    files = [files_of(f"{folder}/{stem}-*.parquet", stem) for stem in ("edges", "nodes")]
    start = time.perf_counter()
    manifest = shard_tables(Tables(*files, Columns(structure="none"), "random"), shards, int(parts), memory=memory)
    seconds = time.perf_counter() - start
    print(
        json.dumps(
            {
                "seconds": seconds,
                "links": manifest.links,
                "links_per_second": manifest.links / seconds,
                "peak_bytes": peak(),
            }
        )
    )


def train(shards: Path, parts: int, model: str) -> dict[str, Any]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    rows = [answer(process) for process in [child("train", shards, rank, parts, port, model) for rank in range(parts)]]
    return {
        "seconds_per_epoch": max(row["seconds_per_epoch"] for row in rows),
        "peak_bytes": [row["peak_bytes"] for row in rows],
        "bytes_per_epoch": [row["bytes_per_epoch"] for row in rows],
        "formula_bytes": [row["formula_bytes"] for row in rows],
        "hidden_width_bytes": [row["hidden_width_bytes"] for row in rows],
    }


def train_child(shards: str, rank: str, parts: str, port: str, model: str) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": "lo"}
    import torch
    import torch.distributed as dist

    from gpcn import TrainConfig
    from gpcn.data.parts.manifest import Manifest
    from gpcn.distributed.loading import load_part
    from gpcn.distributed.workers import Workers
    from gpcn.training.trainer import Trainer

    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=int(rank), world_size=int(parts))
    workers, manifest = Workers(), Manifest.read(shards)
    config = TrainConfig.of(model, hidden=HIDDEN, layers=LAYERS, dropout=0.0)
    problem, data = load_part(Path(shards), manifest, config, workers)
    trainer = Trainer(problem, config, data.splits[0], 0)
    trainer.step()
    sent, start = workers.bytes_sent, time.perf_counter()
    for _ in range(EPOCHS):
        trainer.step()
    seconds, sent = (time.perf_counter() - start) / EPOCHS, (workers.bytes_sent - sent) / EPOCHS
    expected = [formula(trainer, workers, width) for width in (CLASSES, HIDDEN)]
    row = {"seconds_per_epoch": seconds, "peak_bytes": peak(), "bytes_per_epoch": sent}
    print(json.dumps(row | {"formula_bytes": expected[0], "hidden_width_bytes": expected[1]}))
    dist.destroy_process_group()


def formula(trainer: Any, workers: Any, width: int) -> float:
    """What docs/scale.md says a worker sends in an epoch, with rows of `width` numbers."""
    operator = trainer.model.read(trainer.problem.adjacency, None, trainer.problem.graph.num_nodes).operators[0]
    forward, backward = (
        sum(rows.numel() for rows in matrix.exchange.outgoing) for matrix in (operator.matrix, operator.transposed)
    )
    share = 2 * (workers.size - 1) / workers.size
    shared = sum(weight.numel() for weight in trainer.shared)
    longest = int(workers.gather_integers([len(trainer.val)]).max())
    return 4 * (LAYERS * width * (forward + backward) + share * shared + longest * CLASSES * (workers.size - 1))


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
