"""How much memory there is, a refusal before work begins that would need more, and what refusals of others look like.

The estimates that are compared with it are lower bounds: what passes may still not fit, what is refused would not have.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from gpcn.core.errors import CapacityError, ConfigError

REFUSED = re.compile(
    r"can't allocate memory|out of memory|not enough memory|bad_alloc|cannot map zero-fill pages"
    r"|cannot allocate memory(?! in static TLS)|failed to map segment from shared object(?!: Operation not permitted)",
    re.IGNORECASE,
)
"""Words of allocators and of the loader of shared libraries (which has others where a folder is mounted noexec)."""
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
VARIABLE = "GPCN_MEMORY"
"""The environment variable that says how much may be used, such as 8G, instead of what the machine has."""
CGROUPS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def available_memory() -> int | None:
    """Bytes that this process can still get: the least of what machine, container and `ulimit` leave, if known."""
    stated = os.environ.get(VARIABLE)
    if stated:
        return _stated(stated)
    limits = [limit for limit in (_of_machine(), *map(_of_cgroup, CGROUPS), _of_process()) if limit is not None]
    return max(0, min(limits)) if limits else None


def require_memory(needed: float, what: str, advice: str) -> None:
    """Refuse `what` where it needs more than there is: with both numbers, and a way out."""
    limit = available_memory()
    if limit is not None and needed > limit:
        raise CapacityError(
            f"{what} needs about {readable_bytes(needed)} of memory, and {readable_bytes(limit)} is available; {advice}"
        )


def require_addresses(needed: int, what: str) -> None:
    """Refuse `what` where `ulimit -v` leaves fewer bytes of addresses: libraries written in C++ abort the process."""
    left = _of_process()
    if left is not None and needed > left:
        raise CapacityError(
            f"{what} needs about {readable_bytes(needed)} of addresses, and ulimit -v leaves {readable_bytes(left)} to "
            "this process; raise that limit"
        )


def is_refusal(error: BaseException) -> bool:
    """Whether an allocator, the system or the loader of shared libraries refused memory."""
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    spoken = isinstance(error, (RuntimeError, ImportError, OSError)) and REFUSED.search(str(error)) is not None
    return isinstance(error, MemoryError) or spoken


def readable_bytes(size: float) -> str:
    """Bytes for people."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB" if size < 1000 else f"{size:,.0f} TB"


def _stated(text: str) -> int:
    match = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]+)?)\s*([kmgt]?)(i?b)?\s*", text.lower())
    if match is None:
        raise ConfigError(f"{VARIABLE} is {text!r}; expected a size such as 8G or 500M")
    return int(float(match[1]) * UNITS[match[2]])


def _of_machine() -> int | None:
    try:
        content = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    match = re.search(r"^MemAvailable:\s+(\d+) kB", content, re.MULTILINE)
    return None if match is None else int(match[1]) * 1024


def _of_cgroup(files: tuple[Path, Path]) -> int | None:
    """What the container leaves; memory that only caches files can be taken back, and is not counted as used."""
    try:
        limit, used = (path.read_text().strip() for path in files)
        cached = re.search(r"^(?:total_)?inactive_file (\d+)", files[0].with_name("memory.stat").read_text(), re.M)
    except OSError:
        return None
    if not limit.isdigit() or not used.isdigit() or int(limit) >= 1 << 60:
        return None
    return int(limit) - int(used) + (int(cached[1]) if cached else 0)


def _of_process() -> int | None:
    """What `ulimit -v` leaves."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError, ValueError, IndexError):
        return None
    return None if limit == resource.RLIM_INFINITY else limit - pages * os.sysconf("SC_PAGE_SIZE")
