"""What was last asked of a study, kept beside it, so that going on needs nothing but its folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from gpcn.atomic import replacing
from gpcn.errors import CheckpointError, ConfigError
from gpcn.tuning.storage import place_of

FILE = "asked.json"


@dataclass(frozen=True)
class Wish:
    """The budget as it was written, and where the study lives if not in its folder (nobody's name or password)."""

    budget: str
    elsewhere: str | None = None

    @classmethod
    def of(cls, folder: Path, budget: str, storage: str | None) -> Wish:
        """What is asked now."""
        return cls(budget, None if storage is None else place_of(folder, storage))

    def keep(self, folder: Path) -> None:
        """Beside the study."""
        with replacing(folder / FILE) as stream:
            stream.write(json.dumps(asdict(self)).encode())


def last_wish(folder: Path) -> Wish | None:
    """What was asked last; nothing where a program began the study."""
    file = folder / FILE
    if not file.is_file():
        return None
    try:
        told = json.loads(file.read_bytes())
        found = Wish(**told)
        if not isinstance(found.budget, str) or not isinstance(found.elsewhere, str | None):
            raise TypeError("budget and place are not text")
        return found
    except (OSError, ValueError, TypeError) as error:
        raise CheckpointError(f"{file} is damaged: {error}; delete it, and name --budget (and --storage)") from error


def check_place(folder: Path, storage: str | None) -> None:
    """Refuse to look for a study in its folder that lives elsewhere: there, a second one would begin."""
    asked = last_wish(folder)
    if asked is not None and asked.elsewhere is not None and storage is None:
        raise ConfigError(f"the study of {folder} lives at {asked.elsewhere}; name its address with --storage")
