"""Files that users name: what must hold before anything is read from them."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path
from typing import Any

from gpcn.core.errors import ConfigError, DataError, Option
from gpcn.core.text import printable_text

LARGEST_TOML = 1 << 20  # bytes; settings are a page at most


def require_regular_file(path: Path) -> None:
    """Refuse pipes, sockets and devices, which may never end or never begin; what does not exist is left to others."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DataError(f"{path} is a pipe, socket or device; expected a file, so save its content to one first")


def require_unicode_path(path: Path) -> None:
    """Refuse names that no file has, and those that cannot be written as UTF-8, which tables, JSON and pages need."""
    if "\0" in str(path):
        raise DataError(f"the name {printable_text(path)!r} holds a NUL character, which no file has; check it")
    if any("\ud800" <= letter <= "\udfff" for letter in str(path)):
        raise DataError(f"the name {printable_text(path)!r} is not UTF-8 text; rename the file or folder")


def read_toml(path: Path, option: Option) -> dict[str, Any]:
    """The content of a TOML file that `option` names; whatever is wrong with it is one sentence."""
    try:
        require_regular_file(path)
        if path.stat().st_size > LARGEST_TOML:
            raise ConfigError(f"{path} has {path.stat().st_size:,} bytes, too many for settings; check {option}")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}; check {option}") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply; expected flat settings such as hidden = 64") from error
    except DataError as error:
        raise ConfigError(f"{error}") from error
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and numbers of more digits than Python reads
        first = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise ConfigError(f"{path} is not a TOML file: {first}") from error
