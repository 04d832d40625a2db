"""``trackfish3d features``: visual features of a recording's detections, for ``train --features``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ...core.files import stamp
from ...recordings import Recording
from .._progress import Bars


def command(
    recording: Annotated[Path, typer.Argument(help="Folder of a recording with videos and detections.")],
    backbone: Annotated[Path, typer.Option(help="Image network: a folder of transformers or timm, or a weights file.")],
    out: Annotated[Path, typer.Option(help="Features, FILE.npz or FILE.parquet; its projection is put beside it.")],
    architecture: Annotated[str | None, typer.Option(help="timm's name of the network, for a weights file.")] = None,
    components: Annotated[int | None, typer.Option(min=1, help="Keep so many principal components; all else.")] = None,
    projection: Annotated[
        Path | None, typer.Option(help="Projection of another recording, so that columns mean the same in both.")
    ] = None,
    margin: Annotated[float, typer.Option(min=0, max=4, help="Share by which the square exceeds the box.")] = 0.1,
    batch: Annotated[int | None, typer.Option(min=1, help="Detections at once; 8 on a CPU, 64 on a GPU.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, mps; the GPU, where there is one.")] = None,
) -> None:
    """Describe what every detection looks like, by any image network; a stopped run goes on where it was."""
    from ...detection.features.backbones import load_backbone
    from ...detection.features.extract import extract
    from ...detection.features.projection import Projection

    source = Recording.open(recording)
    earlier = None if projection is None else Projection.read(projection)
    network = load_backbone(backbone, architecture, device)
    files = sorted(p for p in backbone.rglob("*") if p.is_file()) if backbone.is_dir() else [backbone]
    facts: dict[str, Any] = {"backbone": [stamp(p) for p in files], "architecture": architecture}
    with Bars() as bars:
        report = extract(
            source,
            network,
            out,
            network=facts,
            margin=margin,
            components=components,
            projection=earlier,
            batch=batch,
            progress=bars,
        )
    for note in [*network.notes, *report.notes]:
        bars.say(f"note: {note}")
    print(f"{report.rows} detections, {report.columns} of {network.width} columns: {out}")
