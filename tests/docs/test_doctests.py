"""Examples in docstrings do what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import trackfish3d

ROOT = Path(trackfish3d.__file__).parent
MODULES = [
    ".".join(("trackfish3d", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(ROOT.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


def test_there_are_examples():
    assert len(MODULES) >= 5


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name):
    outcome = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.failed == 0
