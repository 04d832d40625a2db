"""``trackfish3d view``: a page to look at tracks and to mend them."""

from pathlib import Path
from typing import Annotated

import typer

from ...viewer.launch import view


def command(
    recordings: Annotated[list[Path], typer.Argument(help="Folders of recordings.")],
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and wait.")] = False,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of 127.0.0.1; a free one otherwise.")] = None,
) -> None:
    """Look at tracks in the browser, go through the suspects, and mend what is wrong (Ctrl-C ends it)."""
    view(*recordings, port=port, browser=not no_browser, wait=True, say=lambda line: print(line, flush=True))
