"""Training over two "hosts", one of which is taken away: it goes on, or ends with one sentence and is resumed.

    python -m tests.distributed.two_hosts [--save]        # as root; `make two-hosts`

Each scenario is a `gpcn train` on the first host, and its weights must be those of an undisturbed training, to the bit.
With `--save` what happened is written into docs/scale.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.distributed.hosts import HEAD, OTHER, Hosts
from tests.distributed.undisturbed import config_of, train_undisturbed, weights_in, words_of, write_parts

ROOT = Path(__file__).resolve().parents[2]
MODEL, EPOCHS = "gpcn-link", 600
LONGEST = 900.0  # seconds that a command may take
START_TIMEOUT = "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S"


class Scenarios:
    """What happens on `hosts`, with files in `folder`."""

    def __init__(self, hosts: Hosts, folder: Path) -> None:
        self.hosts, self.folder = hosts, folder
        self.lines: list[str] = []

    def log(self, line: str) -> None:
        self.lines.append(line)
        print(line, flush=True)

    def command(self, run: str) -> subprocess.Popen[bytes]:
        """The training on the first host, which reaches the second over the cable."""
        words = ["-m", "gpcn", "train", self.folder / "parts", "--engine", "ray", "--workers", "2", "--timeout", "60"]
        words += ["--address", self.hosts.address, *words_of(MODEL, EPOCHS), "--save-every", "0"]
        words += ["--out", self.folder / run]
        return self.hosts.start(HEAD, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait_for_checkpoint(self, run: str, command: subprocess.Popen[bytes]) -> None:
        """Until both workers have saved, each on its host."""
        folder, until = self.folder / run / "split-00", time.monotonic() + LONGEST
        while len({file.parent for file in folder.glob("part-*/checkpoint-*.json")}) < 2:
            if command.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"no checkpoint: {command.communicate(timeout=10)[1].decode()[-2000:]}")
            time.sleep(0.05)
        counts = [len(self.hosts.workers(host)) for host in (HEAD, OTHER)]
        assert counts == [1, 1], f"workers on the hosts: {counts}"

    def end(self, name: str, command: subprocess.Popen[bytes], start: float, code: int = 0) -> str:
        """How the command ended; its last line on stdout, or on stderr where it failed."""
        output, errors = (text.decode() for text in command.communicate(timeout=LONGEST))
        assert command.returncode == code, f"{name} ended with {command.returncode}: {errors[-3000:]}"
        last = (errors if code else output).strip().splitlines()[-1]
        self.log(f"{name}: exit code {code} after {time.monotonic() - start:.0f} s: {last.strip()}")
        return last

    def check(self, name: str) -> None:
        """The weights are those of an undisturbed training."""
        assert weights_in(self.folder / name) == weights_in(self.folder / "undisturbed")
        self.log(f"{name}: weights equal to the bit")

    def undisturbed(self) -> None:
        start, before = time.monotonic(), self.hosts.received(OTHER)
        command = self.command("across")
        self.wait_for_checkpoint("across", command)
        self.end("across", command, start)
        received = self.hosts.received(OTHER) - before
        assert received > 1_000_000
        self.log(f"across: a worker on each host, {received / 1e6:.1f} MB came over the cable to the second")
        self.check("across")

    def cable(self) -> None:
        start = time.monotonic()
        command = self.command("cable")
        self.wait_for_checkpoint("cable", command)
        self.hosts.plug(OTHER, up=False)
        self.log(f"cable: pulled out after {time.monotonic() - start:.0f} s")
        time.sleep(30)
        assert command.poll() is None, command.communicate()[1].decode()[-2000:]
        self.hosts.plug(OTHER)
        self.hosts.end_ray(OTHER)  # the head has given it up; a node that was given up must be started again
        self.hosts.start_ray(OTHER)
        self.log(f"cable: plugged in, and Ray started again, after {time.monotonic() - start:.0f} s")
        self.end("cable", command, start)
        self.check("cable")

    def power(self) -> None:
        start = time.monotonic()
        self.hosts.env[START_TIMEOUT] = "5"  # instead of 60, eleven times
        command = self.command("power")
        self.wait_for_checkpoint("power", command)
        self.hosts.end_ray(OTHER)
        self.log(f"power: second host killed after {time.monotonic() - start:.0f} s")
        sentence = self.end("power", command, start, code=2)
        assert "the cluster has too few CPUs since a machine was lost" in sentence
        del self.hosts.env[START_TIMEOUT]
        self.hosts.start_ray(OTHER)
        saved = len(list((self.folder / "power" / "split-00").glob("part-*/checkpoint-*.json")))
        assert saved, "nothing was kept"
        start = time.monotonic()
        command = self.command("power")
        self.end("power, the same command again", command, start)
        self.check("power")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="write what happened into docs/scale.md")
    parser.add_argument("--only", help="one of undisturbed, cable and power")
    options = parser.parse_args()
    if os.getuid() != 0 or shutil.which("ip") is None:
        raise SystemExit("network namespaces need root and the command ip")
    with tempfile.TemporaryDirectory(prefix="gpcn-hosts-", dir="/tmp") as name:
        folder = Path(name)
        (folder / "ray").mkdir()
        write_parts(folder / "parts")
        train_undisturbed(folder / "parts", folder / "undisturbed", config_of(MODEL, EPOCHS))
        with Hosts(folder / "ray") as hosts:
            scenarios = Scenarios(hosts, folder)
            all_of_them: list[Callable[[], None]] = [scenarios.undisturbed, scenarios.cable, scenarios.power]
            for scenario in all_of_them:
                if options.only in (None, scenario.__name__):
                    scenario()
    if options.save:
        sys.path.insert(0, str(ROOT))
        from benchmarks.performance_page import put_between

        text = "\n".join(f"    {line.replace(str(folder), 'DIR')}" for line in scenarios.lines)
        put_between(ROOT / "docs" / "scale.md", "two-hosts", text)


if __name__ == "__main__":
    main()
