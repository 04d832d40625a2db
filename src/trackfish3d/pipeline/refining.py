"""Better cameras, clocks and water from a recording's own animals, in one call."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ..cameras import CameraRig
from ..cameras.formats import read_calibration, write_calibration
from ..core.errors import InputError
from ..core.files import atomic_path, write_json
from ..core.progress import Progress
from ..recordings import Recording
from ..refinement.adjustment import RefusedError
from ..refinement.drift import Part, find_parts
from ..refinement.loop import Wish, refine_rig
from ..refinement.outcome import Refinement
from ..refinement.sights import retime, spread
from .tracking import Source, open_recording

_ADVICE_ROWS = 5000  # of tracks that tell whether a refinement would help
_ADVICE_SURE = 4.0  # standard errors
_ADVICE_WORTH = 0.5  # of the error, below which it must fall: centroids that lean feign smaller gains


def refine(
    recording: Source,
    *,
    clocks: bool = True,
    widest: int = 12,
    lenses: bool = True,
    index: bool = False,
    readout: bool = False,
    rounds: int = 5,
    poses: bool = True,
    cameras: Path | None = None,
    progress: Progress | None = None,
) -> Refinement:
    """Refine the cameras of a recording from the animals it shows; nothing is written.

    Raises `RefusedError`, with one line, where the tracks cannot tell.

    Parameters
    ----------
    recording : with detections.
    clocks : whether clocks may be off: whole frames, fractions, and rates.
    widest : frames by which they may be.
    lenses : whether focal lengths and distortion may change, where held-out tracks are better for it.
    index : whether the water's refractive index may change.
    readout : whether cameras read their rows one after the other (rolling shutter).
    rounds : of tracking and adjusting, at most.
    poses : whether cameras may have moved; where only the water did, holding them tells its height best.
    cameras : calibration to refine instead of the recording's own, of any format that `read_calibration` knows.
    progress : called with rounds done and rounds in all.
    """
    source = _with_detections(recording)
    wish = Wish(clocks, widest, lenses, index, readout, rounds, poses)
    known = source.info.fps_known
    rig = rig_to_refine(source, cameras)
    return refine_rig(rig, source.detections, source.fps, wish, fps_known=known, progress=progress)


def rig_to_refine(recording: Source, cameras: Path | None) -> CameraRig:
    """Return the recording's cameras, or those of a calibration file, in the recording's order.

    Parameters
    ----------
    recording : whose cameras they are.
    cameras : calibration of any format that `read_calibration` knows; None for the recording's own.
    """
    own = open_recording(recording).rig
    if cameras is None:
        return own
    rig = read_calibration(cameras)
    if sorted(rig.names) != sorted(own.names):
        raise InputError(
            f"{cameras}: has the cameras {', '.join(rig.names)}, the recording {', '.join(own.names)}; "
            "'trackfish3d convert --names' renames them"
        )
    return CameraRig(tuple(rig[rig.names.index(name)] for name in own.names), rig.units)


def advise_refinement(recording: Source) -> str | None:
    """Say by how much a refinement would help, in one line; None where it would not, or where that cannot be told.

    A small part of the recording is refined; the advice is given where the error of tracks that were held out is
    halved, by four standard errors.

    Parameters
    ----------
    recording : with detections.
    """
    source = _with_detections(recording)
    sample = spread(source.detections, len(source.rig), _ADVICE_ROWS)
    try:
        found = refine_rig(source.rig, sample, source.fps, Wish(rounds=2, lenses=False))
    except RefusedError:
        return None
    if not found.accepted or found.certainty < _ADVICE_SURE or found.after_px > _ADVICE_WORTH * found.before_px:
        return None
    return (
        f"'trackfish3d refine {source.folder.name} --out better.toml' would bring the error of held-out tracks from "
        f"{found.before_px:.2f} to about {found.after_px:.2f} px"
    )


def _with_detections(recording: Source) -> Recording:
    source = open_recording(recording)
    if not len(source.detections):
        raise InputError(f"{source.folder}: has no detections to refine by; run 'trackfish3d detect' first")
    return source


def refine_parts(
    recording: Source,
    window: int,
    *,
    lenses: bool = True,
    index: bool = False,
    poses: bool = True,
    cameras: Path | None = None,
    progress: Progress | None = None,
) -> list[Part]:
    """Find the moments at which cameras or water moved, and refine the cameras of each part; nothing is written.

    Clocks are taken as they are: refine them first.

    Parameters
    ----------
    recording : with detections.
    window : frames from one look at the animals to the next; a move is found between two, then to the frame.
    lenses : whether focal lengths and distortion may change at the beginning, where held-out tracks are better for it.
    index : whether the water's refractive index may change at the beginning.
    poses : whether cameras may be elsewhere at the beginning than the calibration says.
    cameras : calibration to refine instead of the recording's own, of any format that `read_calibration` knows.
    progress : called with frames done and frames in all.
    """
    source = _with_detections(recording)
    wish = Wish(clocks=False, lenses=lenses, index=index, poses=poses)
    return find_parts(rig_to_refine(source, cameras), source.detections, source.fps, wish, window, progress)


def write_parts(parts: list[Part], recording: Source, out: Path, format: str = "trackfish3d") -> list[Path]:
    """Write a calibration for each part, named after `out`, and beside them which frames are whose; paths are returned.

    Parameters
    ----------
    parts : of the recording.
    recording : what they were found in.
    out : name of a calibration file: ``cameras.toml`` makes ``cameras.part1.toml`` and so on.
    format : of the calibration files.
    """
    source = open_recording(recording)
    paths = [out.with_name(f"{out.stem}.part{k}{out.suffix}") for k in range(1, len(parts) + 1)]
    for part, path in zip(parts, paths, strict=True):
        refuse_old(source, path)
        write_calibration(part.rig, path, format)
    table = out.with_name(f"{out.stem}.parts.json")
    write_json(table, [part.to_dict() | {"calibration": path.name} for part, path in zip(parts, paths, strict=True)])
    return [*paths, table]


def apply_parts(parts: list[Part], recording: Source, folder: Path) -> list[Recording]:
    """Make a recording of each part, with its cameras: ``folder/part1`` and so on.

    Parameters
    ----------
    parts : of the recording.
    recording : what they were found in; it stays as it is.
    folder : for the new recordings; it must not exist.
    """
    source = open_recording(recording)
    _must_be_new(folder)
    fps = source.fps if source.info.fps_known else None
    made = []
    for k, part in enumerate(parts, 1):
        frame = source.detections.frame
        mine = source.detections.select(np.flatnonzero((frame >= part.first) & (frame <= part.last)))
        about = f"frames {part.first} to {part.last} of {source.folder.name}, with the cameras of that time"
        made.append(Recording.create(folder / f"part{k}", part.rig, fps=fps, detections=mine, description=about))
    return made


def write_refinement(found: Refinement, recording: Source, out: Path, format: str = "trackfish3d") -> tuple[Path, Path]:
    """Write the new cameras, and beside them what changed, as numbers and as a picture; the two paths are returned.

    Parameters
    ----------
    found : what was refined.
    recording : what it was refined by.
    out : calibration file to write; the recording's own is refused.
    format : of the calibration file.
    """
    from ..plot import refinement

    source = open_recording(recording)
    refuse_old(source, out)
    write_calibration(found.rig, out, format)
    numbers, picture = out.with_name(f"{out.stem}.refined.json"), out.with_name(f"{out.stem}.refined.png")
    write_json(numbers, found.to_dict())
    figure = refinement(found, _middle(source))
    with atomic_path(picture) as temporary:
        figure.savefig(temporary, format="png", dpi=110)
    return numbers, picture


def refuse_old(
    recording: Source,
    out: Path,
    cameras: Path | None = None,
    format: str = "trackfish3d",
    new_recording: Path | None = None,
) -> None:
    """Refuse, before anything is computed, what could not be written afterwards; the old calibration stays.

    Parameters
    ----------
    recording : what is refined.
    out : calibration file to write.
    cameras : calibration that is refined instead of the recording's own.
    format : of the calibration to write.
    new_recording : folder to make; it must not exist.
    """
    rig = rig_to_refine(recording, cameras)
    with TemporaryDirectory() as folder:
        trial = Path(folder) / out.name
        try:
            write_calibration(rig, trial, format)
        except InputError as error:
            raise InputError(str(error).replace(str(trial), str(out))) from None
    if new_recording is not None:
        _must_be_new(new_recording)
    if (out / "recording.toml").exists():
        raise InputError(f"{out}: is a recording; give --out the name of a file, as in {out / 'refined.toml'}")
    old = [open_recording(recording).folder / "cameras.toml", *([] if cameras is None else [cameras])]
    if out.exists() and any(path.exists() and out.samefile(path) for path in old):
        raise InputError(f"{out}: is the old calibration, which stays; give --out another name")


def _middle(recording: Recording) -> np.ndarray:
    from ..health.picture import animals

    points = animals(recording.rig, recording.detections)
    return np.asarray(np.median(points, axis=0)) if len(points) else np.zeros(3)


def _must_be_new(folder: Path) -> None:
    if folder.exists():
        raise InputError(f"{folder}: exists already; name a new folder")


def apply_refinement(found: Refinement, recording: Source, folder: Path) -> Recording:
    """Make a recording with the new cameras and clocks: detections are put on the common clock, to the nearest frame.

    Parameters
    ----------
    found : what was refined.
    recording : what it was refined by; it stays as it is.
    folder : of the new recording; it must not exist.
    """
    source = open_recording(recording)
    _must_be_new(folder)
    detections = source.detections
    middle = np.full(len(found.rig), float(np.round((detections.frame.min() + detections.frame.max()) / 2)))
    clock = np.array([[m + c.clock_frames, 1 + 1e-6 * c.clock_ppm] for m, c in zip(middle, found.cameras, strict=True)])
    moved = retime(detections, clock, middle).detections
    fps = source.fps if source.info.fps_known else None
    about = f"refined cameras and clocks of {source.folder.name}"
    return Recording.create(folder, found.rig, fps=fps, detections=moved, truth=source.truth, description=about)
