"""A camera whose background takes for ever to be learnt, for tests of what a user does meanwhile."""

import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any


@dataclass
class SlowCamera:
    """As much of a job as is asked for before its first frame."""

    name: str

    @property
    def video(self) -> Any:
        return SimpleNamespace(count=10)

    @property
    def detector(self) -> Any:
        time.sleep(120)
        raise AssertionError("nobody stopped it")
