"""Progress of work that goes through the videos of a recording."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from .tracking.track import _Rate


@contextmanager
def camera_bars(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Show one bar a camera, on a terminal only; yields what to call with camera, frames done and frames in all."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(camera: str, done: int, total: int) -> None:
            if camera not in tasks:
                tasks[camera] = bars.add_task(camera, total=total)
            bars.update(tasks[camera], completed=done)

        yield tell


@contextmanager
def compile_bar(console: Console) -> Iterator[Callable[[int], None]]:
    """Say "compiling, once" from the first call on; yields what to call with the number of kernels that are done."""
    columns = (
        TextColumn("compiling, once"),
        BarColumn(),
        TextColumn("{task.completed:.0f} kernels"),
        TimeElapsedColumn(),
    )
    bars = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    tasks: list[TaskID] = []

    def tell(done: int) -> None:
        if not tasks:
            if not console.is_terminal:
                console.print("compiling, once: about a minute", highlight=False)
            tasks.append(bars.add_task("compile", total=None))
            bars.start()
        bars.update(tasks[0], completed=done)

    try:
        yield tell
    finally:
        bars.stop()
