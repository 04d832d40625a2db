"""Every test that the page of what holds names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "trust.md"
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_is_named_is_there(file: str, name: str) -> None:
    assert re.search(rf"^(    )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_point_has_a_row() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for point in range(1, 23):
        assert re.search(rf"^\| T{point} ", text, re.MULTILINE), f"Trust {point}"
    for section in range(1, 5):
        assert re.search(rf"^\| H{section} ", text, re.MULTILINE), f"Harden {section}"
    assert len(NAMED) > 60
