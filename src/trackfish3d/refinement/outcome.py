"""What a refinement found, in numbers and in plain words."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cameras import CameraRig
from ..core.files import finite
from .observability import Parameter

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CameraChange:
    """What changed for one camera.

    Attributes
    ----------
    name : of the camera.
    moved : of its centre, world units.
    moved_sigma : standard deviation of that place, world units.
    turned_deg : of its axes, degrees.
    turned_sigma_deg : standard deviation of that, degrees.
    shifted_px : by how much the animals are seen elsewhere, root mean square.
    focal_percent : of its focal length.
    clock_frames : to add to its frame numbers, at the middle of the recording.
    clock_sigma_frames : standard deviation of that.
    clock_ppm : by how many millionths its clock is too slow.
    clock_sigma_ppm : standard deviation of that.
    readout_frames : from its first row to its last (rolling shutter), frames; 0 where that was held.
    readout_sigma_frames : standard deviation of that.
    before_px : error of held-out sights with the old cameras.
    after_px : the same with the new ones.
    covariance : (6, 6) of its turn, radians about its own axes, and of its ``t``, world units; zeros where it was held.
    """

    name: str
    moved: float
    moved_sigma: float
    turned_deg: float
    turned_sigma_deg: float
    shifted_px: float
    focal_percent: float
    clock_frames: float
    clock_sigma_frames: float
    clock_ppm: float
    clock_sigma_ppm: float
    readout_frames: float
    readout_sigma_frames: float
    before_px: float
    after_px: float
    covariance: Array


@dataclass(frozen=True, eq=False)
class Refinement:
    """Better cameras, clocks and water, and whether they are to be trusted.

    Attributes
    ----------
    rig : the new cameras; in the old world, as far as the animals can tell.
    accepted : whether held-out tracks are explained better than by the old cameras.
    why : one line about that.
    before_px : error of held-out sights with the old cameras, mean of the cameras' medians.
    after_px : the same with the new ones.
    certainty : standard errors by which the new ones are better.
    covariance : (6 C, 6 C) of all poses together, those of the cameras being its blocks.
    old : the cameras before.
    cameras : what changed, for each camera.
    water : height by which each plane moved along its normal, world units, with its standard deviation.
    index : of the water before and after, with its standard deviation; None where it was held.
    told : what the data told, and was adjusted.
    held : what they did not tell, and was held, with the reason.
    parameters : all that were free, with standard deviations before and after.
    sights : how many were used.
    rounds : of tracking and adjusting.
    units : of length.
    fps : frames a second, None where nobody said.
    """

    rig: CameraRig
    accepted: bool
    why: str
    before_px: float
    after_px: float
    certainty: float
    cameras: tuple[CameraChange, ...]
    water: tuple[tuple[float, float], ...]
    index: tuple[float, float, float] | None
    told: tuple[str, ...]
    held: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    sights: int
    rounds: int
    units: str
    covariance: Array
    old: CameraRig
    fps: float | None = None

    @property
    def clocks(self) -> dict[str, tuple[float, float]]:
        """By camera: frames to add at the middle of the recording, and millionths by which the clock is too slow."""
        return {c.name: (c.clock_frames, c.clock_ppm) for c in self.cameras}

    @property
    def offsets(self) -> dict[str, int]:
        """By camera, whole frames to add to its frame numbers, as ``recording.toml`` has them."""
        return {c.name: round(c.clock_frames) for c in self.cameras if round(c.clock_frames)}

    def lines(self) -> list[str]:
        """Say it in plain words, a line each."""
        out = [self.why]
        for c in self.cameras:
            ms = "" if self.fps is None else f" ({1000 * c.clock_frames / self.fps:+.1f} ms)"
            clock = (
                f", clock {c.clock_frames:+.2f} +- {c.clock_sigma_frames:.2f} frames{ms}, "
                f"{c.clock_ppm:+.0f} +- {c.clock_sigma_ppm:.0f} ppm"
            )
            rows = f", rows read within {c.readout_frames:.3f} +- {c.readout_sigma_frames:.3f} frames"
            focal = f", focal length {c.focal_percent:+.2f} %" if c.focal_percent else ""
            clock = clock if c.clock_sigma_frames > 0 else ""
            rows = rows if c.readout_sigma_frames > 0 else ""
            out.append(
                f"camera {c.name}: turned {c.turned_deg:.3f} +- {c.turned_sigma_deg:.3f} degrees, moved {c.moved:.3g} "
                f"+- {c.moved_sigma:.2g} {self.units}, animals {c.shifted_px:.1f} px elsewhere{focal}"
                f"{clock}{rows}; held-out error {c.before_px:.2f} px before, "
                f"{c.after_px:.2f} after"
            )
        for height, sigma in self.water:
            out.append(f"water: its plane moved by {height:+.4g} +- {sigma:.2g} {self.units} along its normal")
        if self.index is not None:
            out.append("water: refractive index {:.4f} before, {:.4f} +- {:.4f} after".format(*self.index))
        out += [f"held: {h}" for h in self.held]
        hardly = [f"{p.what} of {p.whose}" for p in self.parameters if p.hardly]
        return [*out, f"hardly told by these tracks: {', '.join(hardly)}"] if hardly else out

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers, for JSON; the rig is a file of its own."""
        apart = ("rig", "old", "cameras", "covariance", "parameters")
        plain = {k: v for k, v in self.__dict__.items() if k not in apart}
        cameras = [asdict(c) | {"covariance": c.covariance.tolist()} for c in self.cameras]
        parameters = [asdict(p) | {"told": p.told} for p in self.parameters]
        whole: dict[str, Any] = finite(plain | {"cameras": cameras, "parameters": parameters})
        return whole
