"""The command, with whatever Typer is installed."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("arguments", [["track", "--nope"], ["nothing"], ["track"]])
def test_a_wrong_option_is_told_in_few_words(arguments):
    told = subprocess.run(
        [sys.executable, "-m", "trackfish3d", *arguments], capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert "Traceback" not in told.stderr
    assert len(told.stderr.splitlines()) <= 8


def test_the_command_needs_nothing_that_is_not_named():
    code = "import sys; sys.modules['click'] = None; import trackfish3d.cli.app"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
