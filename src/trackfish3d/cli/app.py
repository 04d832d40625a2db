"""The ``trackfish3d`` command: finds its sub-commands and turns users' mistakes into one line."""

import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

# One OpenMP thread per process: two beside another busy process cost many times their work. Where more are asked for,
# each has work of its own, and the matrix products of compiled code must not be split among them once more.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import typer
from typer.core import TyperGroup

from .. import __version__
from ..core.errors import Note, TrackFishError

# Command and its module below this folder; each module has a function `command` or a typer.Typer `app`.
# A module is imported only when its command is called, so that none pays for the imports of the others.
COMMANDS = {
    "calibrate": "inputs.calibrate",
    "run": "tracking.run",
    "batch": "tracking.batch",
    "import": "inputs.import_",
    "detect": "tracking.detect",
    "features": "tracking.features",
    "crops": "tracking.crops",
    "check": "tracking.check",
    "refine": "inputs.refine",
    "train": "tracking.train",
    "train-baseline": "tracking.train_baseline",
    "learn": "tracking.learn",
    "track": "tracking.track",
    "look-again": "tracking.look_again",
    "warmup": "tracking.warmup",
    "evaluate": "results.evaluate",
    "analyse": "results.analyse",
    "view": "results.view",
    "edit": "results.edit",
    "clip": "results.clip",
    "report": "results.report",
    "export": "results.export",
    "convert": "inputs.convert",
    "info": "inputs.info",
    "simulate": "inputs.simulate",
    "noise": "inputs.noise",
    "difficulty": "results.difficulty",
    "benchmark": "results.benchmark",
}


_INTERRUPTED = 130
_WRONG_USE: Any = typer.BadParameter.__mro__[2]  # ClickException: of Click, or of the copy that newer Typers carry


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
            single = typer.Typer(add_completion=False, rich_markup_mode=None)
            single.command(cmd_name, context_settings={"max_content_width": 100})(module.command)
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


@contextmanager
def _notes() -> Iterator[None]:
    """Print each `Note` as one line; other warnings are shown as ever."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, Note):
                print(f"note: {' '.join(str(message).split())}", file=sys.stderr)
            else:
                usual(message, category, *where, **more)

        warnings.simplefilter("always", Note)
        warnings.showwarning = show
        yield


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a user's mistake becomes one line on standard error and exit code 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    traced = "--debug" in arguments
    arguments = [a for a in arguments if a != "--debug"]  # after a command too, where a user adds it
    try:
        with _notes():
            code = app(args=arguments, prog_name="trackfish3d", standalone_mode=False)
        if code == _INTERRUPTED:  # Typer's own answer to Ctrl-C
            raise KeyboardInterrupt
        sys.exit(code if isinstance(code, int) else 0)
    except _WRONG_USE as error:  # a wrong option or argument
        error.show()
        sys.exit(error.exit_code)
    except TrackFishError as error:
        if traced:
            raise
        _say(str(error))
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        _say("stopped; what was finished is kept, and the same command goes on from there")
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (OSError, MemoryError) as error:  # what the system refuses: a full disk, no permission, no memory
        if traced:
            raise
        _say(_refused(error))
        sys.exit(2)


def _refused(error: OSError | MemoryError) -> str:
    """Say what the system refused: file and cause."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; nothing that was finished is lost"
    cause = error.strerror or str(error) or type(error).__name__
    file = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
    return f"{file}{cause}; nothing that was finished is lost"


def _say(message: str) -> None:
    """Print one line on standard error, without anything that a terminal would obey."""
    line = "".join(c if c.isprintable() else "?" for c in " ".join(message.split()))
    with contextlib.suppress(OSError):
        print(f"trackfish3d: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
