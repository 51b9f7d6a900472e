"""Golden results: what every model and command gives, written down to compare two commits to the bit.

    .venv/bin/python benchmarks/golden.py record --out golden/now [--src SRC] [--only 'train/texas/*']
    .venv/bin/python benchmarks/golden.py compare golden/before golden/now [--allowed exceptions.toml]

`record` runs the `gpcn` commands of the tree whose sources are in `--src` (default: this one), each in a process of one
thread, and keeps what they print and write without what a clock decides. One folder per cell, whole or not there: the
same command goes on after a kill. What only the inside of the package tells is asked by `golden_adapter.py`, that
of the tree where it has one. `compare` lists what differs and ends with 1 where no exception allows it; an exception
is a table `[[allowed]]` with `pattern`, `reason` and `tolerance` (default 1e-10, `inf` for anything).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.golden_compare import read_exceptions, report

HERE = Path(__file__).resolve().parent
ABOUT = ".about.json"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
CLOCK = {"seconds", "checksum", "sha256"}  # fields that a clock decides, or that follow from such ones
RUN_FILES = ("run/**/predictions.npz", "run/**/epochs.csv")
ADAPTER = "golden_adapter.py"

INPUTS = "../../inputs"
RING, TINY = f"{INPUTS}/ring/ring.npz", f"{INPUTS}/tiny/tiny.npz"
COLUMNS = ("--source", "payer", "--target", "payee", "--id", "account", "--label", "fraud")
TABLES = f"{INPUTS}/fraud/fraud"
FRAUD = (f"{TABLES}/transfers.csv", "--nodes", f"{TABLES}/accounts.csv", *COLUMNS)
NEXT_MONTH = (f"{TABLES}/next/transfers.csv", "--nodes", f"{TABLES}/next/accounts.csv")
GRAPHS = {
    "ring": (RING, "--splits", "0,1"),
    "texas": ("texas", "--splits", "0,1"),
    "fraud": (*FRAUD, "--random-splits", "2"),
}
SHORT = ("--set", "epochs=15", "--jobs", "1")
WAYS = {  # of training that the defaults do not take
    "class-weights": (*GRAPHS["fraud"], "--set", "class_weights=true", "--metric", "f1"),
    "chosen-by-metric": (*GRAPHS["ring"], "--set", "select=metric", "--metric", "log_loss"),
    "both-directions": (*GRAPHS["texas"], "--set", "direction=both", "--set", "normalize_features=true"),
    "folds": (*FRAUD, "--folds", "3"),
    "by-time": (*FRAUD, "--split-by", "opened"),
    "by-group": (*FRAUD, "--split-group", "country", "--random-splits", "2"),
}
PORTFOLIO = (
    {"title": "majority", "model": "label-propagation", "settings": {"alpha": 0.0, "layers": 1}},
    {"title": "logistic", "model": "logistic", "settings": {"epochs": 15}},
    {"title": "gpcn-link", "model": "gpcn-link", "settings": {"epochs": 15, "hidden": 16}},
)
"""Of an `auto` that ends before its hour because more configurations would win by chance: no clock decides."""


@dataclass(frozen=True)
class Cell:
    """Commands that run one after the other in an empty folder, and which files of it are kept."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    keep: tuple[str, ...] = RUN_FILES


def gpcn(*words: str) -> tuple[str, ...]:
    """The words of a `gpcn` command that prints a document."""
    return ("-m", "gpcn", *words, "--json")


def train(model: str, *words: str) -> tuple[str, ...]:
    """A short training into the folder `run`."""
    return gpcn("train", *words, "--model", model, *SHORT, "--out", "run")


def cells(models: list[str]) -> Iterator[Cell]:
    """All cells, those first whose files others read."""
    ring = ("--nodes", "300", "--mixing", "ring", "--directed", "--unlabelled", "0.1", "--splits", "2")
    yield Cell("inputs/ring", (gpcn("synth", *ring, "--out", "ring.npz"),), ("*.npz",))
    yield Cell("inputs/tiny", (gpcn("synth", "--nodes", "60", "--splits", "1", "--out", "tiny.npz"),), ("*.npz",))
    yield Cell(
        "inputs/fraud", (gpcn("synth", "--preset", "fraud", "--nodes", "400", "--out", "fraud"),), ("fraud/**/*",)
    )
    for graph, words in {"ring": (RING,), "texas": ("texas",), "fraud": FRAUD}.items():
        yield Cell(f"inspect/{graph}", (gpcn("inspect", *words),))
    for graph, words in GRAPHS.items():
        for model in models:
            yield Cell(f"train/{graph}/{model}", (train(model, *words),))
    for way, words in WAYS.items():
        yield Cell(f"ways/{way}", (train("gpcn-link", *words),))
    compared = ("--models", "logistic,gcn,trees,gpcn", *SHORT, "--out", "run")
    yield Cell("compare", (gpcn("compare", *GRAPHS["ring"], *compared),))
    tuned = ("--model", "family", "--budget", "8", "--generation", "4", *SHORT, "--out", "study")
    yield Cell("tune", (gpcn("tune", *GRAPHS["ring"], *tuned),), ("study/study.json",))
    chosen = ("--budget", "1h", "--portfolio", "portfolio.json", "--jobs", "1", "--out", "run")
    yield Cell("auto", (gpcn("auto", TINY, *chosen),))
    predicted = ("predict", "run", *NEXT_MONTH, "--out", "predictions.csv")
    yield Cell("predict", (train("gpcn-link", *GRAPHS["fraud"]), gpcn(*predicted)), ("predictions.csv",))
    yield Cell(
        "bound", (train("gpcn-link", *GRAPHS["texas"]), gpcn("bound", "run", "--out", "drawn.json")), ("drawn.json",)
    )
    for model in ("gpcn-link", "gcn"):
        explained = ("explain", "run", "--node", "7")
        yield Cell(f"explain/{model}", (train(model, *GRAPHS["texas"]), gpcn(*explained)), ())
    for question in ("keys", "draws", "proposals", "estimators"):
        yield Cell(question, ((ADAPTER, question, RING),), ("*.json", "*.npz"))


class Recorder:
    """The folder `out` of what the tree with the sources `src` gives."""

    def __init__(self, src: Path, out: Path) -> None:
        self.src, self.out = src.resolve(), out.resolve()
        its_own = self.src.parent / "benchmarks" / ADAPTER
        self.adapter = its_own if its_own.is_file() else HERE / ADAPTER
        self.env = os.environ | ONE_THREAD | {"PYTHONPATH": str(self.src)}
        self.env.pop("PYTHONHASHSEED", None)  # what depends on it must show

    def begin(self) -> list[str]:
        """Say in the folder what it holds, refuse that of other sources; the models of the tree."""
        where = self._run(("-c", "import gpcn; print(gpcn.__file__)"), HERE).strip()
        if not Path(where).is_relative_to(self.src):
            raise SystemExit(f"gpcn is imported from {where}; expected the sources in {self.src}")
        about = {"src": str(self.src), "digest": self._digest()}
        file = self.out / ABOUT
        if file.exists() and json.loads(file.read_text())["digest"] != about["digest"]:
            raise SystemExit(f"{self.out} holds results of other sources than {self.src} has now; choose another --out")
        self.out.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(about, indent=1) + "\n")
        return [entry["name"] for entry in json.loads(self._run(gpcn("models"), HERE))]

    def record(self, cell: Cell) -> None:
        """Run the commands of a cell and keep what they gave."""
        work, kept = self.out / ".work" / "cell", self.out / ".work" / "kept"
        shutil.rmtree(work.parent, ignore_errors=True)
        work.mkdir(parents=True)
        kept.mkdir()
        (work / "portfolio.json").write_text(json.dumps(PORTFOLIO))
        for command in cell.commands:
            printed = self._run(command, work)
            if command[0] == "-m":
                self._keep_document(kept / f"{command[2]}.json", printed)
        for file in sorted({file for pattern in cell.keep for file in work.glob(pattern) if file.is_file()}):
            target = kept / file.relative_to(work)
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".json":
                self._keep_document(target, file.read_text())
            else:
                shutil.copyfile(file, target)
        finished = self.out / cell.name
        finished.parent.mkdir(parents=True, exist_ok=True)
        kept.rename(finished)
        shutil.rmtree(work.parent)

    def _run(self, words: tuple[str, ...], folder: Path) -> str:
        if words[0] == ADAPTER:
            words = (str(self.adapter), *words[1:])
        command = [sys.executable, "-W", "ignore", *words]
        done = subprocess.run(command, env=self.env, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)} failed: {done.stderr.strip()[-1000:]}")
        return done.stdout

    def _keep_document(self, path: Path, text: str) -> None:
        """Without what differs between two recordings of the same: the clock, and where this folder is."""
        document = json.dumps(_without_clock(json.loads(text)), indent=1)
        path.write_text(document.replace(str(self.out), "OUT") + "\n")

    def _digest(self) -> str:
        """Of all that decides a result in this folder."""
        digest = hashlib.sha256()
        files = [file for file in self.src.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
        for file in (*sorted(files), self.adapter, Path(__file__)):
            digest.update(file.name.encode() + file.read_bytes())
        return digest.hexdigest()


def _without_clock(document: Any) -> Any:
    if isinstance(document, dict):
        return {name: _without_clock(value) for name, value in document.items() if name not in CLOCK}
    return [_without_clock(value) for value in document] if isinstance(document, list) else document


def record(src: Path, out: Path, only: str) -> int:
    """Record every cell that is not there; how many failed."""
    recorder = Recorder(src, out)
    wanted = [
        cell for cell in cells(recorder.begin()) if fnmatchcase(cell.name, only) or cell.name.startswith("inputs/")
    ]
    failed = 0
    for number, cell in enumerate(wanted, 1):
        if (recorder.out / cell.name).is_dir():
            continue
        start = time.perf_counter()
        try:
            recorder.record(cell)
            outcome = f"{time.perf_counter() - start:.1f} s"
        except RuntimeError as error:
            failed += 1
            outcome = str(error)
        print(f"[{number:3}/{len(wanted)}] {cell.name}: {outcome}", flush=True)
    print(f"{len(wanted) - failed} of {len(wanted)} cells are in {out}")
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    recording = modes.add_parser("record", help="write down what a tree gives")
    recording.add_argument("--src", type=Path, default=HERE.parent / "src", help="the sources to run")
    recording.add_argument("--out", type=Path, required=True)
    recording.add_argument("--only", default="*", help="a pattern of cells, such as 'train/texas/*'")
    comparing = modes.add_parser("compare", help="list what differs between two such folders")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--allowed", type=Path, help="a TOML file of exceptions")
    options = parser.parse_args()
    if options.mode == "record":
        raise SystemExit(record(options.src, options.out, options.only) > 0)
    exceptions = read_exceptions(options.allowed) if options.allowed else ()
    raise SystemExit(report(options.before, options.after, exceptions) > 0)


if __name__ == "__main__":
    main()
