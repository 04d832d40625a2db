"""The ``trackfish3d`` command: finds its sub-commands and turns users' mistakes into one line."""

import importlib
import os
import sys
from typing import Annotated, Any

# One OpenMP thread per process: two beside another busy process cost many times their work. Where more are asked for,
# each has work of its own, and the matrix products of compiled code must not be split among them once more.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import typer
from typer.core import TyperGroup

from .. import __version__
from ..core.errors import TrackFishError

# Command and its module below this folder; each module has a function `command` or a typer.Typer `app`.
# A module is imported only when its command is called, so that none pays for the imports of the others.
COMMANDS = {
    "calibrate": "inputs.calibrate",
    "run": "tracking.run",
    "import": "inputs.import_",
    "detect": "tracking.detect",
    "features": "tracking.features",
    "check": "tracking.check",
    "train": "tracking.train",
    "learn": "tracking.learn",
    "track": "tracking.track",
    "warmup": "tracking.warmup",
    "evaluate": "results.evaluate",
    "analyse": "results.analyse",
    "report": "results.report",
    "export": "results.export",
    "convert": "inputs.convert",
    "info": "inputs.info",
    "simulate": "inputs.simulate",
    "noise": "inputs.noise",
    "difficulty": "results.difficulty",
    "benchmark": "results.benchmark",
}


class LazyGroup(TyperGroup):
    """A group whose sub-commands are modules, imported on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the module of a command and make the command of it."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"trackfish3d.cli.{COMMANDS[cmd_name]}")
        if hasattr(module, "app"):
            command = typer.main.get_command(module.app)
        else:
            single = typer.Typer(add_completion=False)
            single.command(cmd_name)(module.command)
            command = typer.main.get_command(single)
        command.name = cmd_name
        return command


app = typer.Typer(cls=LazyGroup, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"trackfish3d {__version__}")
        raise typer.Exit


@app.callback()
def trackfish3d(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """3D trajectories of every fish of a school, from several calibrated cameras."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a user's mistake becomes one line on standard error and exit code 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        app(args=arguments, prog_name="trackfish3d")
    except TrackFishError as error:
        if "--debug" in arguments:
            raise
        message = " ".join(str(error).split())
        print(f"trackfish3d: {message}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
