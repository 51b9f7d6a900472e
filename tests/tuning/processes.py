"""Who started whom, from /proc: tests kill processes, and only their own."""

from __future__ import annotations

import os
from pathlib import Path


def below(ancestor: int) -> dict[int, str]:
    """The words of a process, and of all that it started."""
    known = _parents()
    found = {ancestor}
    while more := {pid for pid, (parent, _) in known.items() if parent in found} - found:
        found |= more
    return {pid: known[pid][1] for pid in found if pid in known}


def cpu_seconds(pid: int) -> float:
    """How long it has computed; nothing where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _parents() -> dict[int, tuple[int, str]]:
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text().replace("\0", " ")
            found[int(folder.name)] = (int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1]), words)
        except (OSError, ValueError, IndexError):
            continue
    return found
