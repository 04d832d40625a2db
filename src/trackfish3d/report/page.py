"""The page itself: template, styles, scripts and contents in one file."""

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..core.files import atomic_path
from ..recordings import Recording, Tracks, read_tracks
from .contents import collect
from .thinning import stride_of, thinned

# In the order of their imports: each may use what stands before it.
SCRIPTS: tuple[str, ...] = ("decode.js", "state.js", "dom.js", "matrix.js", "lines.js", "room.js")
SCRIPTS += (
    "labels.js",
    "skeletons.js",
    "scene.js",
    "orbit.js",
    "views.js",
    "timeline.js",
    "plots.js",
    "behaviour.js",
    "maps.js",
)
SCRIPTS += ("starts.js", "suspects.js", "tables.js", "main.js")


def build_report(
    recording: Recording,
    tracks: Tracks,
    gate: float | None = None,
    tracks_file: str | Path = "tracks.parquet",
    raw: bool = False,
) -> str:
    """HTML of a page about `tracks` of a recording; `gate` as in `trackfish3d.evaluation.evaluate`, world units.

    `raw`: the tracks are as the tracker left them, whatever was edited.
    """
    return page(collect(recording, tracks, gate, tracks_file, raw))


def write_report(
    recording: Recording,
    out: str | Path | None = None,
    tracks: str | Path | None = None,
    gate: float | None = None,
    raw: bool = False,
) -> Path:
    """Write the page (``report.html`` in the recording, if not said otherwise) and return where it is.

    `tracks` is a file to show instead of the recording's own ``tracks.parquet``, which is shown as the edits leave it
    unless `raw`. Of a recording that is too long to be held in memory, every n-th frame is read.
    """
    every = 1
    if tracks is not None:
        found = read_tracks(tracks)
    elif (every := stride_of(recording, raw)) > 1:
        recording, found = thinned(recording, every)
    else:
        found = recording.tracks if raw else recording.mended_tracks
    out = recording.folder / "report.html" if out is None else Path(out)
    file = "tracks.parquet" if tracks is None else Path(tracks).resolve()
    text = page(collect(recording, found, gate, file, raw, every))
    with atomic_path(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return out


def page(contents: dict[str, Any]) -> str:
    """Put contents into the page.

    Nothing of the contents becomes markup: they are one JSON block, and the scripts only ever set text. A content
    policy that allows this one script and style, by their hashes, and no address at all, keeps it so.
    """
    folder = files(__package__) / "data"
    style = (folder / "style.css").read_text(encoding="utf-8")
    script = bundle([(folder / name).read_text(encoding="utf-8") for name in SCRIPTS])
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    data = json.dumps(contents, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    parts = {
        "POLICY": policy,
        "TITLE": html.escape(str(contents["title"])),
        "STYLE": style,
        "SCRIPT": script,
        "DATA": data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
    }
    template = (folder / "template.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda found: parts[found[1]], template)


def bundle(modules: list[str]) -> str:
    """Join ES modules that import only each other into one: imports go, exports become plain declarations."""
    plain = [re.sub(r"^import\b[^;]*;\n", "", m, flags=re.MULTILINE) for m in modules]
    return "\n".join(re.sub(r"^export ", "", m, flags=re.MULTILINE) for m in plain)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
