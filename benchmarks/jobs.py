"""What a user waits for: whole commands, wall-clock, against an earlier commit of this package in the same run.

    .venv/bin/python benchmarks/jobs.py [--against 3e7d60f] [--rounds 3] [--json] [--save]

Commands of both commits take turns, each in a fresh process and an empty folder; the figure is the median over rounds.
Ours also run with one and with two jobs, beside the default. The commit to compare with is laid out from this
repository, and the packages installed here serve both. `--save` keeps every command in benchmarks/partial-jobs.json as
it is measured, and the same command at the same commit goes on from there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.epoch import machine
from benchmarks.performance_page import PAGE, jobs_table, put_between

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PARTIAL = HERE / "partial-jobs.json"
BEFORE = "3e7d60f"  # the last commit without helpers that are kept between models
SEVEN = "logistic,link,gcn,sgc,gpcn,gpcn-link,agpcn"
JOBS: dict[str, tuple[list[str], bool]] = {  # words of the command, and whether it takes --jobs
    "help": (["--help"], False),
    "train": (["train", "texas", "--model", "gpcn", "--out", "{folder}/run"], True),
    "compare": (["compare", "{table}", "--models", SEVEN], True),
    "tune": (["tune", "texas", "--budget", "24", "--out", "{folder}/study"], True),
}


TITLES = {
    "help": "`gpcn --help`",
    "train": "`gpcn train texas --model gpcn` (ten splits)",
    "compare": "`gpcn compare` of seven models, 2,000 nodes, five splits",
    "tune": "`gpcn tune texas --budget 24`",
}


def laid_out(commit: str, folder: Path) -> Path:
    """The sources of `commit`, in `folder`."""
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", commit, "src"], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def seconds(source: Path, words: list[str]) -> float:
    """Wall-clock of one command."""
    env = os.environ | {"PYTHONPATH": str(source), "PYTHONWARNINGS": "ignore"}
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "gpcn", *words], env=env, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - start
    if done.returncode != 0:
        raise SystemExit(f"gpcn {' '.join(words)} of {source} failed: {done.stderr.strip()[-500:]}")
    return taken


def measure(name: str, before: Path, table: Path, rounds: int) -> dict[str, Any]:
    """Medians of one command: before, now, and now with one and two jobs."""
    words, takes_jobs = JOBS[name]
    ways: dict[str, tuple[Path, list[str]]] = {"before": (before, []), "now": (ROOT / "src", [])}
    if takes_jobs:
        ways |= {f"jobs_{count}": (ROOT / "src", ["--jobs", str(count)]) for count in (1, 2)}
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, (source, more) in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                filled = [word.format(folder=folder, table=table) for word in words]
                taken[way].append(seconds(source, [*filled, *more]))
    medians = {way: statistics.median(values) for way, values in taken.items()}
    row = {"command": name, "speedup": medians["before"] / medians["now"], **medians}
    if takes_jobs:
        row["over_best"] = medians["now"] / min(medians["jobs_1"], medians["jobs_2"])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default=BEFORE)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--commands", default=",".join(JOBS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--save", action="store_true", help="write benchmarks/jobs.json and docs/performance.md")
    options = parser.parse_args()
    about = {"machine": machine(), "against": options.against, "rounds": options.rounds}
    rows = resumed(about) if options.save else []
    with tempfile.TemporaryDirectory() as folder:
        before, table = laid_out(options.against, Path(folder)), Path(folder) / "table"
        seconds(ROOT / "src", ["synth", "--out", str(table), "--nodes", "2000", "--splits", "5"])
        for name in options.commands.split(","):
            if any(row["command"] == name for row in rows):
                continue
            rows.append(measure(name, before, table, options.rounds))
            if options.save:
                PARTIAL.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
            if not options.json:
                print(line(rows[-1], options.against), flush=True)
    document = {**about, "rows": rows}
    if options.save:
        (HERE / "jobs.json").write_text(json.dumps(document, indent=1) + "\n")
        put_between(PAGE, "jobs", jobs_table(rows, TITLES))
        PARTIAL.unlink(missing_ok=True)
    if options.json:
        print(json.dumps(document, indent=1))


def resumed(about: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a run like this one at this commit that did not come to its end."""
    kept = json.loads(PARTIAL.read_text()) if PARTIAL.exists() else {}
    return list(kept["rows"]) if {**kept, "rows": None} == {**about, "rows": None} else []


def line(row: dict[str, Any], against: str) -> str:
    """A row as a person reads it."""
    now = f"{row['now']:.1f} s now, {row['before']:.1f} s at {against}, {row['speedup']:.1f}x"
    over = f"; {row['over_best']:.2f} of the better of one and two jobs" if "over_best" in row else ""
    return f"{row['command']}: {now}{over}"


if __name__ == "__main__":
    main()
