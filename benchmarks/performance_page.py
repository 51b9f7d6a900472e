"""benchmarks/results.json into the tables of docs/performance.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
KINDS = {
    "ours_ms": "ours",
    "published_ms": "as published",
    "message_passing_ms": "message passing",
    "pyg_gcn_ms": "PyG GCN",
    "pyg_linkx_ms": "PyG LINKX",
    "floor_ms": "floor",
}


def save(results: dict[str, Any], folder: Path) -> None:
    """Write the results, and the page's tables from them."""
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    put_between(PAGE, "epochs", epoch_table(results["rows"]))
    put_between(PAGE, "memory", memory_table(results["rows"], results["depth"]))
    put_between(PAGE, "machine", ", ".join(f"{key} {value}" for key, value in results["machine"].items()))


def epoch_table(rows: list[dict[str, Any]]) -> str:
    lines = ["| dataset | model | h | L | dropout | " + " | ".join(KINDS.values()) + " | speed-up | over floor |"]
    lines.append("| --- | --- |" + " ---: |" * (len(KINDS) + 5))
    for row in rows:
        times = " | ".join(_number(row[key]) for key in KINDS)
        lines.append(
            f"| {row['dataset']} | {row['model']} | {row['hidden']} | {row['layers']} | {row['dropout']:g} | {times} | "
            f"**{_number(row['speedup_published'] or row['speedup_message_passing'])}×** "
            f"| {_number(row['over_floor'], 2)} |"
        )
    return "\n".join(lines)


def memory_table(rows: list[dict[str, Any]], depth: dict[str, float]) -> str:
    lines = ["| dataset | model | h | L | ours, MB | as published, MB |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        ours, theirs = _number(row["ours_peak_mb"], 0), _number(row["published_peak_mb"], 0)
        lines.append(f"| {row['dataset']} | {row['model']} | {row['hidden']} | {row['layers']} | {ours} | {theirs} |")
    steps = ", ".join(f"L={layers}: {peak:.0f} MB" for layers, peak in depth.items())
    return "\n".join(lines) + f"\n\nThe same model on squirrel (GPCN, h=512, no dropout) at growing depth: {steps}."


def protocol_table(rows: list[dict[str, Any]]) -> str:
    """Seconds for all splits."""
    lines = ["| dataset | splits | epochs | ours, s | as published, s | speed-up |", "| --- |" + " ---: |" * 5]
    for row in rows:
        times = f"{row['ours_s']:.1f} | {row['published_s']:.1f} | **{row['speedup']:.2f}×**"
        lines.append(f"| {row['dataset']} | {row['splits']} | {row['epochs']} | {times} |")
    return "\n".join(lines)


def reproduction_table(rows: list[dict[str, Any]], total: dict[str, float]) -> str:
    """Per dataset, the four models together."""
    lines = ["| dataset | epochs | ours, min | as published, min | speed-up |", "| --- |" + " ---: |" * 4]
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        rows_of_dataset = [row for row in rows if row["dataset"] == dataset]
        lines.append(
            _minutes(dataset, {key: sum(row[key] for row in rows_of_dataset) for key in total if key != "speedup"})
        )
    return "\n".join([*lines, _minutes("**all**", total)])


def search_table(rows: list[dict[str, Any]]) -> str:
    """Evaluations a minute at equal work, and the job of finding the best of some configurations."""
    lines = [
        "| dataset | space | evaluations a minute | as published | speed-up | two jobs | the job, s | as published, s "
        "| speed-up | place of its choice |",
        "| --- | --- |" + " ---: |" * 8,
    ]
    for row in rows:
        equal = f"{row['per_minute']:.0f} | {row['published_per_minute']:.1f} | **{row['speedup']:.1f}×**"
        job = f"{row['study_s']:.0f} | {row['job_published_s']:,.0f} | **{row['job_speedup']:.0f}×**"
        rank = f"{row['place']} of {row['configurations']}, {row['behind']:.2f} points behind"
        if row["place"] == 1:
            rank = f"1 of {row['configurations']}"
        lines.append(f"| {row['dataset']} | {row['space']} | {equal} | {row['two_jobs']:.2f}× | {job} | {rank} |")
    return "\n".join(lines)


def bandwidth_table(results: dict[str, Any]) -> str:
    """Per dataset and kernel: time, what it must move a second, its share of the copy beside it, what it gathers."""
    peaks = ", ".join(f"{name} {value:.1f} GB/s" for name, value in results["stream_gb_s"].items())
    lines = [f"STREAM in the same run, {results['machine']['threads']} thread(s): {peaks}.", ""]
    lines += ["| dataset | kernel | ms | moved, GB/s | of a copy | gathered, GB/s |", "| --- | --- |" + " ---: |" * 4]
    for row in results["kernels"]:
        moved = f"{row['ms']:.3f} | {row['gb_s']:.1f} | {100 * row['of_copy']:.0f} %"
        lines.append(f"| {row['dataset']} | {row['kernel']} | {moved} | {_number(row['gathered_gb_s'])} |")
    return "\n".join(lines)


def order_table(rows: list[dict[str, Any]]) -> str:
    """A sparse product with nodes in the order given, by degree, and by reverse Cuthill-McKee."""
    lines = ["| dataset | width | as given, ms | by degree | Cuthill–McKee |", "| --- |" + " ---: |" * 4]
    for row in rows:
        ratios = " | ".join(f"{row['given'] / row[order]:.2f}×" for order in ("degree", "rcm"))
        lines.append(f"| {row['dataset']} | {row['width']} | {row['given']:.3f} | {ratios} |")
    return "\n".join(lines)


def jobs_table(rows: list[dict[str, Any]], titles: dict[str, str]) -> str:
    """Seconds of whole commands, before and now."""
    lines = ["| command | before | now | speed-up | now, over the better of `--jobs 1` and `2` |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for row in rows:
        over = f"{row['over_best']:.2f}" if "over_best" in row else ""
        times = f"{row['before']:.1f} | {row['now']:.1f} | {row['speedup']:.1f}×"
        lines.append(f"| {titles[row['command']]} | {times} | {over} |")
    return "\n".join(lines)


def both_ways_table(rows: list[dict[str, Any]]) -> str:
    """Per dataset and model: the committed mean, the mean now, and their distance in committed deviations."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    lines = ["| dataset | " + " | ".join(models) + " |", "| --- |" + " ---: |" * len(models)]
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        of_model = {row["model"]: row for row in rows if row["dataset"] == dataset}
        texts = [_distance(of_model[model]) if model in of_model else "–" for model in models]
        lines.append(f"| {dataset} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _distance(row: dict[str, Any]) -> str:
    return f"{row['committed_mean']:.2f} → {row['mean']:.2f} ({row['in_deviations']:+.2f})"


def _minutes(name: str, sums: dict[str, float]) -> str:
    times = f"{sums['ours_s'] / 60:.1f} | {sums['published_s'] / 60:.1f}"
    return f"| {name} | {sums['epochs']:,} | {times} | **{sums['published_s'] / sums['ours_s']:.1f}×** |"


def put_between(path: Path, marker: str, text: str) -> None:
    """Replace what stands between `<!-- marker -->` and `<!-- /marker -->`."""
    start, end = f"<!-- {marker} -->", f"<!-- /{marker} -->"
    before, rest = path.read_text().split(start)
    path.write_text(f"{before}{start}\n\n{text}\n\n{end}{rest.split(end)[1]}")


def _number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
