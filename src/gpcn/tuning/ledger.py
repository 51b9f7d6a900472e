"""A study on disk, through Optuna's storage: every configuration, every evaluation once, how each ended.

One SQLite file in the study's folder, or any storage that Optuna knows. A trial appears with its whole configuration in
one transaction, an evaluation in another; all else can be worked out from these, so a kill loses what was in flight
and nothing more. One driver at a time writes (`driven`); readers come and go.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import DuplicatedStudyError
from optuna.storages import BaseStorage, RDBStorage
from optuna.study import StudyDirection
from optuna.trial import TrialState, create_trial
from sqlalchemy.pool import NullPool

from gpcn.atomic import replacing
from gpcn.errors import CheckpointError, ConfigError
from gpcn.tuning.lease import Lease, leased
from gpcn.tuning.proposal import distributions
from gpcn.tuning.schedule import Plan, State, Trial
from gpcn.tuning.space import Space
from gpcn.tuning.tasks import Outcome, Task

FORMAT = 1
ENDS = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "diverged": TrialState.FAIL}
EVALUATION = "evaluation:"


class Ledger:
    """The study in `folder`; `header` says what it is a study of."""

    def __init__(
        self, folder: Path, header: dict[str, Any], storage: BaseStorage, study: int, *, shared: bool = False
    ) -> None:
        self.folder, self.header, self._shared = folder, header, shared
        self.space, self.plan, self.seed = (
            Space.from_json(header["space"]),
            Plan.from_json(header["plan"]),
            header["seed"],
        )
        self._storage, self._study = storage, study
        self._lease: Lease | None = None
        self._ids: dict[int, int] = {}
        self.trials: list[Trial] = []
        self._read()

    @classmethod
    def create(cls, folder: Path, header: Mapping[str, Any], url: str | None = None) -> Ledger:
        """A new study, or the one that is there if it is the same."""
        told = json.loads(json.dumps({"format": FORMAT, **header}))
        file = folder / "study.json"
        if file.exists():
            known = read_header(folder)
            different = [name for name in told if known.get(name) != told[name]]
            if different:
                raise ConfigError(
                    f"{folder} holds another study (its {', '.join(different)} differ); choose another --out"
                )
        else:
            with replacing(file) as stream:
                stream.write(json.dumps(told, indent=1).encode())
        return cls.open(folder, url)

    @classmethod
    def open(cls, folder: Path, url: str | None = None) -> Ledger:
        """The study that is there."""
        header = read_header(folder)
        name = _name(header)
        storage = _storage(folder, url)
        with suppress(DuplicatedStudyError):  # it is there, perhaps since this moment
            storage.create_new_study([StudyDirection.MAXIMIZE], name)
        study = storage.get_study_id_from_name(name)
        return cls(folder, header, storage, study, shared=url is not None)

    @classmethod
    def read(cls, folder: Path) -> Ledger:
        """The study that is there, for who only reads: nothing is made where nothing is."""
        read_header(folder)
        if not (folder / "study.db").is_file():
            raise CheckpointError(
                f"{folder} has no study.db: it was not begun, or lives in another storage; "
                "see it with gpcn tune --show and --storage"
            )
        return cls.open(folder)

    @contextmanager
    def driven(self) -> Iterator[None]:
        """Keep other drivers out while this one writes.

        A file in the folder is safe behind the folder's lock; a storage that others reach needs more.
        """
        if not self._shared:
            yield
            return
        with leased(self._storage, _name(self.header)) as lease:
            self._lease = lease
            self.trials.clear()
            self._read()  # what somebody else wrote before it was ours
            try:
                yield
            finally:
                self._lease = None

    def add(self, number: int, generation: int, point: dict[str, Any]) -> Trial:
        """A new configuration."""
        self._check()
        known = distributions(self.space)
        about = {"generation": generation, "gpcn_number": number}
        frozen = create_trial(state=TrialState.RUNNING, params=point, distributions=known, user_attrs=about)
        self._ids[number] = self._storage.create_new_trial(self._study, template_trial=frozen)
        trial = Trial(number, generation, point, self.space.config(point, seed=self.seed))
        self.trials.append(trial)
        return trial

    def record(self, task: Task, outcome: Outcome) -> None:
        """What came out of `task`. A second outcome of the same task is not taken."""
        trial = self.trials[task.trial]
        if task.key in trial.outcomes:
            return
        self._check()
        self._storage.set_trial_user_attr(self._ids[task.trial], task.key, outcome)
        trial.outcomes[task.key] = outcome

    def end(self, trial: Trial, state: State, level: int, value: float | None) -> None:
        """How it ended: after which rung, and with which score."""
        if trial.state != "running":
            return
        identity = self._ids[trial.number]
        if value is not None:
            self._storage.set_trial_intermediate_value(identity, level, value)
        values = [value] if state == "complete" and value is not None else None
        self._storage.set_trial_state_values(identity, ENDS[state], values)
        trial.state, trial.value = state, value

    def _check(self) -> None:
        if self._lease is not None:
            self._lease.check()

    def _read(self) -> None:
        ends = {end: state for state, end in ENDS.items()}
        for frozen in self._storage.get_all_trials(self._study, deepcopy=False):
            number = frozen.user_attrs.get("gpcn_number")
            if number != len(self.trials):
                raise CheckpointError(f"{self.folder} has a trial that gpcn did not write; it cannot go on")
            config = self.space.config(frozen.params, seed=self.seed)
            trial = Trial(number, frozen.user_attrs["generation"], dict(frozen.params), config)
            trial.outcomes = {key: dict(told) for key, told in frozen.user_attrs.items() if key.startswith(EVALUATION)}
            if frozen.state in ends:
                trial.state = ends[frozen.state]  # type: ignore[assignment]
                reached = frozen.intermediate_values
                trial.value = reached[max(reached)] if reached else None
            self._ids[number] = frozen._trial_id
            self.trials.append(trial)


def _name(header: Mapping[str, Any]) -> str:
    """The study's name in its storage, which may hold others of the same graph."""
    about = {name: header[name] for name in ("graph", "space", "plan", "seed", "first")}
    about["graph"] = about["graph"]["fingerprint"]
    return "gpcn-" + hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def read_header(folder: Path) -> dict[str, Any]:
    """What the study in `folder` is a study of."""
    file = folder / "study.json"
    if not file.is_file():
        raise CheckpointError(f"{folder} is not a study: it has no study.json; expected a folder written by gpcn tune")
    try:
        told = json.loads(file.read_bytes())
        if told["format"] != FORMAT:
            raise CheckpointError(f"{file} has format {told['format']!r}; this gpcn reads format {FORMAT}")
        Space.from_json(told["space"])
        Plan.from_json(told["plan"])
        return dict(told)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{file} is damaged: {error!r}; it cannot be used") from error


def _storage(folder: Path, url: str | None) -> BaseStorage:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    file = folder / "study.db"
    options: dict[str, Any] = {"connect_args": {"timeout": 60}}
    if url is not None:  # a server's connections are few, and a search needs one for a moment now and then
        options = {"poolclass": NullPool}
    try:
        return RDBStorage(url or f"sqlite:///{file.resolve()}", engine_kwargs=options)
    except ImportError as error:
        raise ConfigError(f"there is no driver for {_without_password(url)}; pip install 'gpcn[postgres]'") from error
    except Exception as error:
        told = str(error).splitlines()[0]
        raise CheckpointError(f"the study cannot be opened at {_without_password(url) or file}: {told}") from error


def _without_password(url: str | None) -> str:
    return re.sub(r"://[^/@]*@", "://", url or "")
