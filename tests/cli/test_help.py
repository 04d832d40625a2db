"""Every page of help says what it says in the source: nothing is taken for markup, and defaults are there."""

import importlib
import inspect
import re

import pytest
import typer
from typer.testing import CliRunner

from trackfish3d.cli.app import COMMANDS, app

runner = CliRunner()


def page(command: str) -> str:
    made = runner.invoke(app, [command, "--help"], env={"COLUMNS": "100"})
    assert made.exit_code == 0
    return made.output


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_a_help_text_is_swallowed(command: str) -> None:
    shown = re.sub(r"\s+", " ", page(command))
    module = importlib.import_module(f"trackfish3d.cli.{COMMANDS[command]}")
    if not hasattr(module, "command"):
        return
    for parameter in inspect.signature(module.command).parameters.values():
        for info in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(info, typer.models.ParameterInfo) and info.help and not info.hidden:
                assert re.sub(r"\s+", " ", info.help) in re.sub(r"(?<=-) (?=\w)", "", shown) or info.help in shown


def test_a_default_in_brackets_is_there() -> None:
    assert "[default: mm]" in page("calibrate")
    assert "[default: 10]" in page("analyse")


def test_train_and_learn_say_in_their_first_line_what_for_and_who_uses_the_file() -> None:
    lines = {name: " ".join(page(name).split("\n\n")[1].split()) for name in ("train", "learn")}
    assert "published network" in lines["train"]
    assert "track --method paper --model FILE" in lines["train"]
    assert "default tracker" in lines["learn"]
    assert "track --model FILE" in lines["learn"]
