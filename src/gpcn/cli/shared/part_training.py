"""`gpcn train DIR --engine ray`: a graph in parts, by workers of a Ray cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcn.cli.shared.output import print_json
from gpcn.cli.shared.step_log import step_log
from gpcn.core.errors import ConfigError

if TYPE_CHECKING:
    from gpcn.training.config import TrainConfig
    from gpcn.training.progress import Listener, Progress

BETWEEN = 5.0  # seconds, at least, from one line to the next of the same split


@dataclass(frozen=True)
class ClusterOptions:
    """Training of a graph in parts by workers of a cluster."""

    engine: Annotated[
        str | None,
        typer.Option("--engine", metavar="ray", help="ray: a worker per part of a graph that gpcn shard wrote."),
    ] = None
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Workers of --engine ray (default: one per part).")
    ] = None
    address: Annotated[
        str | None,
        typer.Option("--address", metavar="HOST:PORT", help="Of a running Ray cluster (default: one started here)."),
    ] = None
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            min=1,
            help="Seconds that a worker of --engine ray waits for another before all are started again.",
        ),
    ] = 300.0
    log_format: Annotated[
        str | None,
        typer.Option("--log-format", metavar="text|json", help="--engine ray: a line per step on stderr."),
    ] = None

    @property
    def given(self) -> bool:
        """True where any of these options was named."""
        return (self.engine, self.workers, self.address, self.log_format) != (None, None, None, None)


def train_parts(
    graph: str,
    config: TrainConfig,
    cluster: ClusterOptions,
    splits: list[int] | None,
    out: Path | None,
    save_every: float,
    json: bool,
) -> None:
    """Train and show."""
    from gpcn.cli.shared.progress import training_progress
    from gpcn.cli.train import print_training_result
    from gpcn.data.object_storage import remote_url
    from gpcn.distributed.cluster.cluster_training import RayCluster, train_on_cluster
    from gpcn.distributed.run_files import fetch_parts_manifest
    from gpcn.training.settle import settle_by_origin

    if cluster.engine is None:
        raise ConfigError(
            "--workers, --address and --log-format are for training on a cluster; add --engine ray, or leave them out"
        )
    if cluster.engine != "ray":
        raise ConfigError(f"--engine is {cluster.engine!r}; expected ray")
    if out is None:
        raise ConfigError("--engine ray keeps the parts of a run; name where all workers see it with --out")
    where = remote_url(out) or str(out)
    log = step_log(cluster.log_format, quiet=cluster.log_format is None)
    manifest = fetch_parts_manifest(graph)
    config = settle_by_origin(config, tables=manifest.graph.preparation is not None)
    log(f"training {config.model} on {manifest.graph.name} with {manifest.parts} worker(s)")
    with training_progress(config.model, manifest.graph.metric) as bar:
        listeners = [bar] if bar is not None else []
        listeners += [] if cluster.log_format is None else [logged_epochs(log)]
        result = train_on_cluster(
            graph,
            config,
            where,
            cluster=RayCluster(cluster.address, timeout=cluster.timeout),
            workers=cluster.workers,
            splits=splits,
            save_every=save_every,
            progress=_all_of(listeners),
        )
    for split in result.splits:
        log(f"split {split.split}: test {split.test:.4f}, val {split.val:.4f} after {split.epochs} epochs")
    log(f"kept in {where}")
    if json:
        print_json(result)
    else:
        print_training_result(result, where)


def logged_epochs(log: Callable[[str], None], between: float = BETWEEN) -> Listener:
    """A line when a split begins, now and then, at its last epoch, and when workers had to start again."""
    last_split, last_epoch, last_time = -1, 0, 0.0

    def listen(now: Progress) -> None:
        nonlocal last_split, last_epoch, last_time
        same = now.split == last_split
        again = same and now.epoch < last_epoch
        if same and not again and now.epoch < now.epochs and time.monotonic() - last_time < between:
            return
        last_split, last_epoch, last_time = now.split, now.epoch, time.monotonic()
        note = "; the workers were started again" if again else ""
        log(
            f"split {now.split}: epoch {now.epoch} of {now.epochs}, validation loss {now.loss:.4f}, "
            f"score {now.score:.4f}{note}"
        )

    return listen


def _all_of(listeners: list[Listener]) -> Listener | None:
    def listen(now: Progress) -> None:
        for listener in listeners:
            listener(now)

    return listen if listeners else None
