"""``trackfish3d edit``: mend tracks by hand."""

from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import InputError
from ...pipeline.editing import edit
from ...recordings.edits import Change, describe

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Mend tracks by hand: each edit is a line of edits.jsonl, the tracker's output stays as it is.",
)
_State = typer.Context
Track = Annotated[int, typer.Argument(help="Number of a track.")]
Other = Annotated[int, typer.Argument(help="Number of the other track.")]


@app.callback()
def recording(context: _State, recording: Annotated[Path, typer.Argument(help="Folder of the recording.")]) -> None:
    """Mend tracks by hand: each edit is a line of edits.jsonl, the tracker's output stays as it is."""
    context.obj = recording


def _say(change: Change) -> None:
    print(change)


@app.command()
def swap(
    context: _State,
    one: Track,
    other: Other,
    first: Annotated[int, typer.Option("--from", help="First frame in which they are exchanged.")],
    last: Annotated[int | None, typer.Option("--to", help="The last one; to the end without.")] = None,
) -> None:
    """Exchange two tracks from a frame on, or in a range of frames."""
    _say(edit(context.obj).swap(one, other, first, last))


@app.command()
def join(context: _State, one: Track, other: Other) -> None:
    """Make two tracks one, under the number of the first."""
    _say(edit(context.obj).join(one, other))


@app.command()
def cut(
    context: _State, track: Track, frame: Annotated[int, typer.Option("--at", help="First frame of the later part.")]
) -> None:
    """Cut a track in two; the later part gets a new number."""
    _say(edit(context.obj).cut(track, frame))


@app.command()
def delete(
    context: _State,
    track: Track,
    first: Annotated[int | None, typer.Option("--from", help="First frame; from the beginning without.")] = None,
    last: Annotated[int | None, typer.Option("--to", help="Last frame; to the end without.")] = None,
) -> None:
    """Leave out a track, or a part of it."""
    _say(edit(context.obj).delete(track, first, last))


@app.command()
def rename(context: _State, track: Track, new: Annotated[int, typer.Argument(help="A number no track has.")]) -> None:
    """Give a track another number."""
    _say(edit(context.obj).rename(track, new))


@app.command()
def point(
    context: _State,
    track: Track,
    frame: Annotated[int, typer.Option("--at", help="Frame.")],
    pixel: Annotated[list[str], typer.Option("--pixel", help="camera=column,row; twice or more.")],
) -> None:
    """Add a point that is seen in two views or more, or move one there."""
    pixels = {}
    for text in pixel:
        name, _, place = text.rpartition("=")
        try:
            u, v = (float(x) for x in place.split(","))
        except ValueError:
            raise InputError(f"--pixel {text}: write camera=column,row") from None
        pixels[name] = (u, v)
    _say(edit(context.obj).add_point(track, frame, pixels))


@app.command()
def fill(
    context: _State,
    track: Track,
    frame: Annotated[int | None, typer.Option("--at", help="Frame in the gap; the first gap without.")] = None,
) -> None:
    """Fill a gap of a track on a straight line."""
    _say(edit(context.obj).fill(track, frame))


@app.command()
def accept(
    context: _State,
    track: Track,
    first: Annotated[int, typer.Option("--from", help="First frame that was looked at.")],
    last: Annotated[int, typer.Option("--to", help="The last one.")],
    other: Annotated[int | None, typer.Option("--other", help="The other track of the moment.")] = None,
) -> None:
    """Say that tracks are right in a stretch that is suspect."""
    _say(edit(context.obj).accept(track, first, last, other))


@app.command()
def undo(context: _State, times: Annotated[int, typer.Option(min=1, help="How many edits.")] = 1) -> None:
    """Undo the last edit."""
    for _ in range(times):
        _say(edit(context.obj).undo())


@app.command()
def redo(context: _State, times: Annotated[int, typer.Option(min=1, help="How many edits.")] = 1) -> None:
    """Do again what was undone last."""
    for _ in range(times):
        _say(edit(context.obj).redo())


@app.command("list")
def list_(context: _State) -> None:
    """List the edits that hold, and those that can be redone."""
    editor = edit(context.obj)
    log, held = editor.log, {e.id for e in editor.edits}
    for e in log.active:
        older = "" if e.id in held else "  (made on other tracks; 'track --keep-edits' solves under it)"
        print(f"{e.id:>5}  {e.when}  {describe(e)}: {e.frames} frames, {e.views} views{older}")
    for e in reversed(log.undone):
        print(f"{e.id:>5}  {e.when}  undone: {describe(e)}")
    if not log.active and not log.undone:
        print("no edits")
