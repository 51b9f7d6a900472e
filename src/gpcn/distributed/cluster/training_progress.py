"""The progress of a training on several workers: written down by the first, read where it was started."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

from gpcn.core.atomic import replacing
from gpcn.core.errors import GpcnError
from gpcn.distributed.run_files import RunFiles
from gpcn.training.observers import ReportProgress
from gpcn.training.progress import Listener, Progress

FILE = ".progress.json"
BETWEEN = 0.5  # seconds, at least, from one to the next in a folder
BETWEEN_STORED = 3.0  # the same in an object store


def progress_observer(files: RunFiles, number: int) -> ReportProgress:
    """Return what writes down, in the first worker, how far split `number` is."""

    def write(progress: Progress) -> None:
        with contextlib.suppress(GpcnError):  # a training does not end because nobody can see how far it is
            with replacing(files.folder / FILE, new_folders=False) as stream:
                stream.write(json.dumps(astuple(progress)).encode())
            files.publish(files.folder / FILE)

    return ReportProgress(number, write, _between(files))


@contextlib.contextmanager
def watched_progress(files: RunFiles, listener: Listener | None) -> Iterator[None]:
    """Call `listener` with what the first worker writes down, while the training runs."""
    if listener is None:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(files, listener, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        (files.folder / FILE).unlink(missing_ok=True)
        with contextlib.suppress(GpcnError):
            files.publish(files.folder / FILE)


def _watch(files: RunFiles, listener: Listener, ended: threading.Event) -> None:
    seen: Any = None
    while True:
        last_time = ended.wait(_between(files))
        with contextlib.suppress(GpcnError):
            files.fetch([FILE])
        current = read_worker_progress(files.folder / FILE)
        if current is not None and current != seen:
            seen = current
            listener(current)
        if last_time:
            return


def _between(files: RunFiles) -> float:
    return BETWEEN if files.location == str(files.folder) else BETWEEN_STORED


def read_worker_progress(file: Path) -> Progress | None:
    """Return the progress that is written there, if it is one."""
    try:
        split, epoch, epochs, loss, score = json.loads(file.read_bytes())
        return Progress(int(split), int(epoch), int(epochs), float(loss), float(score))
    except (OSError, ValueError, TypeError):
        return None
