"""What the servers behind `commands.Killable` and `run_workers` import once, so that their children need not."""

import pytest  # noqa: F401

import gpcn.distributed.cluster.worker_process  # noqa: F401
import tests.commands  # noqa: F401
