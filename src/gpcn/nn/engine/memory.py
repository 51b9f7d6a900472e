"""Memory: keep what was freed, and say in words when there is not enough.

Large tensors are allocated anew at every step, and fresh memory is slow to touch: glibc hands large blocks back to the
system when they are freed, and every page of the next one then costs a fault. Training and benchmarks ask it to keep
them instead.
"""

from __future__ import annotations

import ctypes
import functools
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gpcn.core.errors import TrainingError
from gpcn.core.machine_memory import is_refusal

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of mallopt
LARGEST = (1 << 31) - 1


@functools.cache
def reuse_freed_memory() -> bool:
    """Ask the C library to keep freed memory for this process; whether it could be asked."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(MMAP_THRESHOLD, 1 << 30)) and bool(mallopt(TRIM_THRESHOLD, LARGEST))


@contextmanager
def memory_limits(what: str, advice: str = "use fewer features, fewer layers or a smaller hidden") -> Iterator[None]:
    """Whatever Python's or PyTorch's allocator refuses to `what` is one sentence, which ends with `advice`."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_refusal(error):
            raise
        wanted = re.search(r"tried to allocate ([\d.]+ ?\w+)", str(error))
        amount = f" (it asked for {wanted[1]} at once)" if wanted else ""
        raise TrainingError(f"this machine does not have enough memory for {what}{amount}; {advice}") from error
