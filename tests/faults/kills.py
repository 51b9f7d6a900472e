"""SIGKILL at random moments of whole commands, and what is found afterwards: `make kills`, docs/reliability.md.

    python -m tests.faults.kills [--count 100] [--seed 0] [--save]

Every command first runs in peace. Then it is started again and again in another folder and killed at a random moment of
that time, alone or with all the processes it started; at last it runs to its end, which must find all that was finished
before as it was (nothing lost, nothing done twice), give the same numbers to the bit, and leave nothing behind.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reliability.md"
RESULTS = Path(__file__).resolve().parent / "kills.json"
PER_FOLDER = 3  # kills before a command runs to its end
UNHARMED = ("kills", "endings")
COLUMNS = ("kills", "endings", "lost", "doubled", "different", "temporary files", "orphans", "shared memory")


@dataclass(frozen=True)
class Command:
    """A command, the files that say what is finished, and all of its result that must not depend on kills."""

    line: str
    finished: Callable[[Path], dict[str, str]]
    essence: Callable[[Path], Any]

    def words(self, folder: Path) -> list[str]:
        """The command, its output in `folder`."""
        return self.line.replace("FOLDER", str(folder)).split()


@dataclass
class Tally:
    """What was found after the kills of one command."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COLUMNS, 0))
    notes: list[str] = field(default_factory=list)

    def add(self, column: str, things: Any) -> None:
        """Count things, and remember what they were."""
        names = sorted(map(str, things))
        self.counts[column] += len(names)
        self.notes += [f"{column}: {thing}" for thing in names]


def digests(folder: Path, *patterns: str) -> dict[str, str]:
    """Checksums of the files that match, by their names."""
    files = sorted(file for pattern in patterns for file in folder.glob(pattern))
    return {str(file.relative_to(folder)): sha256(file.read_bytes()).hexdigest() for file in files}


def run_essence(folder: Path) -> Any:
    """Every run in `folder`: weights, histories, probabilities and scores, but not how long they took."""
    splits: dict[str, Any] = {}
    for file in sorted(folder.rglob("split-*/result.json")):
        payload = json.loads(file.read_text())
        payload["result"].pop("seconds")
        payload["files"].pop("predictions.npz")  # an archive with the time of its making
        with np.load(file.parent / "predictions.npz") as stored:
            probabilities = sha256(stored["probabilities"].tobytes()).hexdigest()
        splits[str(file.relative_to(folder))] = payload["result"], payload["files"], payload["owner"], probabilities
    return splits


def outcomes(folder: Path) -> dict[str, Any]:
    """The evaluations of a study, each with its seconds."""
    from gpcn.core.errors import GpcnError
    from gpcn.search.ledger import Ledger

    try:
        trials = Ledger.read(folder).trials
    except GpcnError:  # it had not begun
        return {}
    return {
        f"{trial.number} {trial.config.canonical()} {key}": outcome
        for trial in trials
        for key, outcome in trial.outcomes.items()
    }


def study_digests(folder: Path) -> dict[str, str]:
    """The evaluations of a study as `finished` wants them."""
    return {key: sha256(json.dumps(outcome).encode()).hexdigest() for key, outcome in outcomes(folder).items()}


def study_essence(folder: Path) -> Any:
    """The evaluations of a study, but not how long they took."""
    return {key: {**outcome, "seconds": None} for key, outcome in outcomes(folder).items()}


def auto_evaluations(folder: Path) -> dict[str, str]:
    """The evaluations of `auto` that came to their end, with the checksum of what they predict.

    One that was paused goes on from there, and members follow what is known, so neither is bound to stay.
    """
    checksums = {}
    for file in sorted(folder.glob("candidates/*/*.json")):
        if file.name == "candidate.json" or file.name.startswith("state-"):
            continue
        evaluation = json.loads(file.read_text())
        if evaluation["metadata"]["finished"]:
            config = json.loads((file.parent / "candidate.json").read_text())["config"]
            checksums[f"{json.dumps(config, sort_keys=True)} {file.stem}"] = evaluation["sha256"]
    return checksums


def graph_essence(folder: Path) -> Any:
    """What a converted graph holds."""
    from gpcn import load

    return load(str(folder / "g.npz")).fingerprint()


def page_essence(folder: Path) -> Any:
    """A page, but not when it was made."""
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", (folder / "page.html").read_text())


def answers(folder: Path) -> Any:
    """The evaluations of a reproduction, but not how long they took."""
    evaluations = {}
    for file in sorted(folder.rglob("evaluations/*/*.json")):
        payload = json.loads(file.read_text())
        payload["answer"].pop("seconds")
        payload.pop("checksum")  # of the seconds, too
        evaluations[file.name] = payload
    return evaluations


def commands(material: Path) -> dict[str, Command]:
    """All of them, on the graph in `material`."""
    graph, results = f"{material}/g.npz", "split-*/result.json"
    few = "--set hidden=16 --set epochs=150 --set patience=150 --set dropout=0.4"
    lines = {
        "train": f"train {graph} --model gpcn-link {few} --jobs 2 --save-every 0 --out FOLDER",
        "compare": f"compare {graph} --models mlp,gpcn {few} --jobs 2 --out FOLDER",
        "convert": f"convert {material}/tables --out FOLDER/g.npz",
        "report": f"report {material}/run --out FOLDER/page.html",
        "tune": f"tune {graph} --model gpcn --set epochs=40 --generation 4 --budget 8 --jobs 2 --out FOLDER",
        "auto": f"train {graph} --model auto --budget 20s --jobs 2 --out FOLDER",
        "reproduce": "reproduce table-2 --datasets texas --models mlp,sgc --recipes ours --splits 0-1 --jobs 2 "
        "--out FOLDER",
    }

    def nothing(folder: Path) -> dict[str, str]:
        return {}

    judges: dict[str, tuple[Callable[[Path], dict[str, str]], Callable[[Path], Any]]] = {
        "train": (lambda folder: digests(folder, results), run_essence),
        "compare": (lambda folder: digests(folder, f"*/{results}"), run_essence),
        "convert": (nothing, graph_essence),
        "report": (nothing, page_essence),
        "tune": (study_digests, study_essence),
        "auto": (auto_evaluations, auto_evaluations),
        "reproduce": (lambda folder: digests(folder, "evaluations/*/*.json"), answers),
    }
    return {title: Command(line, *judges[title]) for title, line in lines.items()}


def start(words: list[str]) -> subprocess.Popen[bytes]:
    """A command in a session of its own, so that all of its processes can be told."""
    command = [sys.executable, "-W", "ignore", "-m", "gpcn", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)


def processes(session: int) -> set[int]:
    """The living processes of a session."""
    pids = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            pids.add(int(file.parent.name))
    return pids


def shared_memory(pids: set[int]) -> set[str]:
    """Files in shared memory that these processes have mapped."""
    files: set[str] = set()
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        except OSError:
            continue
        files |= {line.split()[-1] for line in lines if " /dev/shm/" in line}
    return files


def kill(words: list[str], moment: float, *, group: bool) -> tuple[bool, set[int], set[str]]:
    """Start, wait, kill: whether it lived until then, the orphans ten seconds later, and shared memory left over."""
    process = start(words)
    deadline = time.monotonic() + moment
    mapped: set[str] = set()
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(min(0.2, max(0.0, deadline - time.monotonic())))
        mapped |= shared_memory(processes(process.pid))
    lived = process.poll() is None
    if lived:
        (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
    process.wait()
    patience = time.monotonic() + 10
    while (orphans := processes(process.pid)) and time.monotonic() < patience:
        time.sleep(0.05)
    for pid in orphans:
        os.kill(pid, signal.SIGKILL)
    return lived, orphans, {name for name in mapped if Path(name).exists()}


def finish(words: list[str]) -> str:
    """Run to the end; what it said where it failed."""
    process = start(words)
    _, said = process.communicate()
    return "" if process.returncode == 0 else said.decode()[-500:]


def leftovers(folder: Path) -> Iterator[str]:
    """Temporary files, and checkpoints of what is finished."""
    for pattern in (".*.tmp", "checkpoint*", "*.partial"):
        yield from (str(file.relative_to(folder)) for file in folder.rglob(pattern))


def assault(
    command: Command, reference: Any, seconds: float, kills: int, parent: Path, rng: np.random.Generator, *, same: bool
) -> Tally:
    """Kill a command `kills` times, and compare what it gives in the end.

    Not `same`: what it tries depends on the time, so only what both have is compared.
    """
    tally, number = Tally(), 0
    while tally.counts["kills"] < kills:
        folder = parent / str(number)
        folder.mkdir(parents=True)
        before: dict[str, str] = {}
        for _ in range(PER_FOLDER):
            if tally.counts["kills"] == kills:
                break
            group = bool(rng.integers(2))
            lived, orphans, segments = kill(command.words(folder), float(rng.uniform(0, seconds)), group=group)
            tally.counts["kills"] += lived
            tally.add("orphans", orphans)
            tally.add("shared memory", segments)
            after = command.finished(folder)
            tally.add("lost", before.keys() - after.keys())
            tally.add("doubled", (key for key in before.keys() & after.keys() if before[key] != after[key]))
            before = after
        wrong = finish(command.words(folder))
        tally.counts["endings"] += 1
        after = command.finished(folder)
        tally.add("lost", [*(before.keys() - after.keys()), *([wrong] if wrong else [])])
        tally.add("doubled", (key for key in before.keys() & after.keys() if before[key] != after[key]))
        tally.add("temporary files", leftovers(folder))
        given = None if wrong else command.essence(folder)
        if same:
            tally.add("different", [] if given == reference else [folder.name])
        elif isinstance(given, dict):
            tally.add("different", (key for key in given.keys() & reference.keys() if given[key] != reference[key]))
        shutil.rmtree(folder)
        number += 1
    return tally


def prepare(material: Path) -> None:
    """The graph, its tables, and a run to report on."""
    from gpcn import TrainConfig, save, synthesize
    from gpcn.data.graph_record import GraphSource
    from gpcn.data.tables.tables_out import write_graph_tables
    from gpcn.runs.training import train

    graph = synthesize(nodes=400, classes=3, degree=6, splits=2)
    save(graph, material / "g.npz")
    write_graph_tables(graph, material / "tables")
    source = GraphSource.of(material / "g.npz")
    train(graph, TrainConfig.of("gpcn-link", hidden=16, epochs=40), out=material / "run", source=source)


def main() -> None:
    """Kill, count, and write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="kills in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="names of commands between commas (default: all)")
    parser.add_argument("--save", action="store_true", help="write docs/reliability.md and kills.json")
    options = parser.parse_args()
    rng, tallies = np.random.default_rng(options.seed), {}
    with tempfile.TemporaryDirectory(prefix="gpcn-kills-") as name:
        root = Path(name)
        prepare(root)
        chosen = {
            title: command
            for title, command in commands(root).items()
            if not options.only or title in options.only.split(",")
        }
        for position, (title, command) in enumerate(chosen.items()):
            folder = root / "peace" / title
            folder.mkdir(parents=True)
            begin = time.perf_counter()
            wrong = finish(command.words(folder))
            if wrong:
                raise SystemExit(f"gpcn {title} fails in peace: {wrong}")
            seconds = time.perf_counter() - begin
            kills = options.count // len(chosen) + (position < options.count % len(chosen))
            reference = command.essence(folder)
            tallies[title] = assault(command, reference, seconds, kills, root / title, rng, same=title != "auto")
            print(title, tallies[title].counts, *tallies[title].notes, sep="\n  ", flush=True)
            if options.save:
                counts = {name: tally.counts for name, tally in tallies.items()}
                save({**(_saved_rows() if options.only else {}), **counts}, options.seed)
    counts = [count for tally in tallies.values() for column, count in tally.counts.items() if column not in UNHARMED]
    if any(counts):
        raise SystemExit(1)


def _saved_rows() -> dict[str, dict[str, int]]:
    """What was written down of all commands before."""
    return dict(json.loads(RESULTS.read_text())["rows"]) if RESULTS.is_file() else {}


def save(rows: dict[str, dict[str, int]], seed: int) -> None:
    """Write down what was found so far."""
    about = {"when": datetime.now(UTC).strftime("%Y-%m-%d"), "seed": seed, "cores": os.cpu_count()}
    about |= {"python": platform.python_version()}
    RESULTS.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
    write_page(rows, about)


def table(rows: dict[str, dict[str, int]]) -> str:
    """What was found, as the page has it."""
    total = {column: sum(row[column] for row in rows.values()) for column in COLUMNS}
    lines = ["| command | " + " | ".join(COLUMNS) + " |", "| --- |" + " ---: |" * len(COLUMNS)]
    for title, row in [*rows.items(), ("**all**", total)]:
        lines.append(f"| {title} | " + " | ".join(str(row[column]) for column in COLUMNS) + " |")
    return "\n".join(lines)


def write_page(rows: dict[str, dict[str, int]], about: dict[str, Any]) -> None:
    """Put the table into docs/reliability.md."""
    line = f"Run on {about['when']}, {about['cores']} cores, Python {about['python']}, seed {about['seed']}:"
    text = PAGE.read_text()
    filled = re.sub(
        r"(<!-- kills -->\n\n).*?(\n\n<!-- /kills -->)",
        lambda match: f"{match[1]}{line}\n\n{table(rows)}{match[2]}",
        text,
        flags=re.DOTALL,
    )
    PAGE.write_text(filled)


if __name__ == "__main__":
    main()
