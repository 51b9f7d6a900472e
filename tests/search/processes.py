"""Who started whom, from /proc: tests kill processes, and only their own."""

from __future__ import annotations

import os
from pathlib import Path


def below(ancestor: int) -> dict[int, str]:
    """The words of a process, and of all that it started."""
    processes = _parents()
    pids = {ancestor}
    while more := {pid for pid, (parent, _) in processes.items() if parent in pids} - pids:
        pids |= more
    return {pid: processes[pid][1] for pid in pids if pid in processes}


def cpu_seconds(pid: int) -> float:
    """How long it has computed; nothing where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _parents() -> dict[int, tuple[int, str]]:
    processes = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text().replace("\0", " ")
            processes[int(folder.name)] = (int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1]), words)
        except (OSError, ValueError, IndexError):
            continue
    return processes
