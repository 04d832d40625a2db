"""The report of a calibration: one HTML page with its pictures in it."""

import base64
import html
import json
from pathlib import Path

from ..cameras.native import write_cameras
from ..core.files import atomic_path
from .draw import draw_views, draw_world
from .judge import Quality
from .plan import Calibration

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Calibration: {verdict}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<style>
body {{ font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222; }}
table {{ border-collapse: collapse; }} td, th {{ padding: .2em .9em .2em 0; text-align: right; }}
td:first-child, th:first-child {{ text-align: left; }} th {{ font-weight: 600; border-bottom: 1px solid #999; }}
img {{ max-width: 100%; }} .good {{ color: #00704f; }} .doubtful {{ color: #a05a00; }} .bad {{ color: #b00020; }}
</style></head><body>
<h1>Calibration: <span class="{verdict}">{verdict}</span></h1>
{reasons}
<p>{summary}</p>
<table><tr>{heads}</tr>{rows}</table>
<h2>Boards in the images</h2>
<p>Above: where corners were seen, coloured by how far they are missed. Below: the errors as arrows, from the corner
that was seen away from where the cameras expect it. Arrows that point the same way over a region mean a lens or
pose that does not fit; arrows in all directions are noise.</p>
<img alt="coverage and residuals of each camera" src="data:image/png;base64,{views}">
<h2>Cameras and boards</h2>
<img alt="cameras and boards from above and from the side" src="data:image/png;base64,{world}">
</body></html>
"""
HEADS = (
    "camera",
    "pictures",
    "corners",
    "RMS px",
    "do not fit",
    "covered",
    "focal length px",
    "known to",
    "tilts of the board",
)


def table(quality: Quality) -> list[tuple[str, ...]]:
    """Rows of text, one a camera, under `HEADS`."""
    return [
        (
            c.name,
            str(c.pictures),
            str(c.corners),
            f"{c.rms_px:.2f}",
            f"{100 * c.outliers:.1f} %",
            f"{100 * c.coverage:.0f} %",
            f"{c.focal[0]:.1f}, {c.focal[1]:.1f}",
            "given" if c.focal_deviation is None else f"{100 * c.focal_deviation:.2f} %",
            f"{c.lean:.0f} deg",
        )
        for c in quality.cameras
    ]


def summary(quality: Quality, units: str) -> list[str]:
    """Write a line for each thing that concerns all cameras."""
    lines = [f"all corners: RMS {quality.rms_px:.2f} px"]
    if quality.moments:
        lines.append(f"{quality.moments} boards, {quality.shared_moments} of them seen by two cameras or more")
    if quality.square_mean is not None and quality.square_deviation is not None:
        lines.append(
            f"squares of the board, measured in 3D: {100 * quality.square_mean:.2f} % of their side, "
            f"+- {100 * quality.square_deviation:.2f} %"
        )
    if quality.water_index is not None:
        known = quality.water_index_deviation
        lines.append(f"refractive index {quality.water_index:.4f}" + (f" +- {known:.4f}" if known is not None else ""))
    if quality.board_aspect is not None and quality.board_aspect_rms_px is not None:
        shape = f"{100 * quality.board_aspect:.2f} % as high as wide (RMS {quality.board_aspect_rms_px:.2f} px)"
        lines.append(f"squares of the board, if left open: {shape}")
    return [*lines, f"world in {units}"]


def write_page(calibration: Calibration, quality: Quality, path: str | Path) -> None:
    """Write the page, and its first picture beside it as PNG."""
    views, world = draw_views(calibration, quality), draw_world(calibration)
    if quality.reasons:
        reasons = "<ul>" + "".join(f"<li>{html.escape(r)}</li>" for r in quality.reasons) + "</ul>"
    else:
        reasons = "<p>Nothing speaks against it.</p>"
    cells = ["".join(f"<td>{html.escape(v)}</td>" for v in row) for row in table(quality)]
    text = _PAGE.format(
        verdict=quality.verdict,
        reasons=reasons,
        summary="; ".join(html.escape(s) for s in summary(quality, calibration.rig.units)),
        heads="".join(f"<th>{h}</th>" for h in HEADS),
        rows="".join(f"<tr>{c}</tr>" for c in cells),
        views=base64.b64encode(views).decode(),
        world=base64.b64encode(world).decode(),
    )
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    with atomic_path(Path(path).with_suffix(".png")) as temporary:
        temporary.write_bytes(views)


def write_all(result: Calibration, quality: Quality, path: Path) -> Path:
    """Write the cameras to a file, and beside it what was found, for people and for programs; returns the page."""
    write_cameras(result.rig, path)
    page = path.with_suffix(".html")
    write_page(result, quality, page)
    with atomic_path(path.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(quality.to_dict(), indent=1) + "\n", encoding="utf-8")
    return page
