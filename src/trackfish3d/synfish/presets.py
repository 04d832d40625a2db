"""How a school behaves: the zones, the walls, the swimming, as validated settings with named presets."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from ..core.errors import InputError
from ..core.settings import Settings
from . import school_kernels as k


class SchoolSettings(Settings):
    """Zones in body lengths, weights relative to a fish's wish to swim on, rates per frame.

    The zones are those of Couzin et al. (2002): bodies closer than ``repulsion_radius`` push apart, headings
    within ``alignment_radius`` agree, centres up to ``attraction_radius`` draw together. Distances for
    repulsion are between bodies, not centres, because a fish is long.
    """

    length: float = Field(default=3.0, gt=0, description="mean body length, world units")
    cruise: float = Field(default=0.04, gt=0, le=0.15, description="cruising speed, body lengths a frame")
    repulsion_radius: float = Field(default=0.8, gt=0)
    spacing: float = Field(default=0.0, ge=0, description="least repulsion radius, as a share of the room a fish has")
    alignment_radius: float = Field(default=2.5, gt=0)
    attraction_radius: float = Field(default=12.0, gt=0)
    repulsion: float = Field(default=1.2, ge=0)
    alignment: float = Field(default=0.35, ge=0)
    attraction: float = Field(default=0.2, ge=0)
    wall_margin: float = Field(default=1.0, gt=0, description="where a wall begins to be felt, body lengths")
    wall: float = Field(default=3.0, ge=0)
    milling: float = Field(default=0.0, ge=0, description="pull into a common rotation about the volume's middle")
    layering: float = Field(default=0.5, ge=0, description="pull of a fish towards the depth it prefers")
    wander: float = Field(default=0.25, ge=0)
    wander_memory: float = Field(default=0.97, ge=0, lt=1)
    turn_max: float = Field(default=0.10, gt=0, le=0.5, description="radians a frame")
    turn_smooth: float = Field(default=0.25, gt=0, le=1)
    burst_chance: float = Field(default=0.03, ge=0, le=1)
    burst_frames: float = Field(default=8.0, ge=1)
    burst_speed: float = Field(default=1.6, gt=1, le=1.9, description="in units of the cruising speed")
    coast_speed: float = Field(default=0.75, gt=0, le=1)
    pitch_max: float = Field(default=0.5, gt=0, lt=1.5, description="radians")
    start_chance: float = Field(default=0.0, ge=0, le=0.1, description="chance of a fast start in a frame")
    start_turn: float = Field(default=2.1, ge=0, le=3.2, description="turn of a fast start, radians")
    start_turn_frames: float = Field(default=4.0, ge=1, description="frames of that turn")
    start_frames: float = Field(default=6.0, ge=1, description="frames at a fast start's speed")
    start_speed: float = Field(default=8.0, gt=1, le=20, description="in units of the cruising speed")
    rest_chance: float = Field(default=0.0, ge=0, le=0.1, description="chance that a fish begins to rest in a frame")
    rest_frames: float = Field(default=40.0, ge=1)
    fps: float | None = Field(
        default=None, gt=0, description="frame rate that these rates stand for; the rig's if None"
    )
    size_variation: float = Field(default=0.05, ge=0, le=0.2)
    speed_variation: float = Field(default=0.10, ge=0, le=0.3)

    def row(self, room: float) -> np.ndarray:
        """Pack what the kernel reads, in its column order; ``room`` is the side of the cube a fish has to itself."""
        row = np.zeros(k.SETTINGS_COLUMNS)
        row[k.REPULSION_RADIUS] = max(self.repulsion_radius, self.spacing * room / self.length)
        row[k.ALIGNMENT_RADIUS] = self.alignment_radius
        row[k.ATTRACTION_RADIUS] = self.attraction_radius
        row[k.REPULSION], row[k.ALIGNMENT], row[k.ATTRACTION] = self.repulsion, self.alignment, self.attraction
        row[k.WALL_MARGIN], row[k.WALL] = self.wall_margin, self.wall
        row[k.MILLING], row[k.LAYERING] = self.milling, self.layering
        row[k.WANDER], row[k.WANDER_MEMORY] = self.wander, self.wander_memory
        row[k.TURN_MAX], row[k.TURN_SMOOTH] = self.turn_max, self.turn_smooth
        row[k.BURST_CHANCE], row[k.BURST_FRAMES] = self.burst_chance, self.burst_frames
        row[k.BURST_SPEED], row[k.COAST_SPEED] = self.burst_speed, self.coast_speed
        row[k.START_CHANCE], row[k.START_TURN] = self.start_chance, self.start_turn
        row[k.START_TURN_FRAMES], row[k.START_FRAMES] = self.start_turn_frames, self.start_frames
        row[k.START_SPEED] = self.start_speed
        row[k.REST_CHANCE], row[k.REST_FRAMES] = self.rest_chance, self.rest_frames
        row[k.PITCH_MAX], row[k.HOME], row[k.STEP_MAX] = self.pitch_max, 1.0, 1.9
        return row


PRESETS: dict[str, SchoolSettings] = {
    # Loose shoal in a small tank: much wandering, weak alignment, walls matter.
    "tank": SchoolSettings(
        length=3.5,
        cruise=0.028,
        repulsion_radius=0.5,
        alignment=0.2,
        attraction=0.12,
        wander=0.35,
        wander_memory=0.96,
        turn_max=0.14,
        layering=0.25,
    ),
    # A school in open water that keeps together and turns as one.
    "open": SchoolSettings(alignment=0.5, attraction=0.3, wander=0.2, layering=0.3),
    # Fish circling a common axis, as confined schools do: the paper's scenes.
    "milling": SchoolSettings(spacing=0.55, milling=0.45, alignment=0.25, attraction=0.12, wander=0.2),
    # Filmed at 200 frames a second: bursts and glides, rest, and C-starts that turn by 120 degrees in four frames.
    "startle": SchoolSettings(
        cruise=0.03,
        spacing=0.3,
        alignment=0.2,
        attraction=0.1,
        burst_chance=0.02,
        burst_frames=5.0,
        burst_speed=1.9,
        coast_speed=0.5,
        start_chance=0.008,
        rest_chance=0.004,
        fps=200.0,
    ),
}


def preset(name: str) -> SchoolSettings:
    """Return the settings called ``name``."""
    if name not in PRESETS:
        raise InputError(f"preset '{name}' is not known; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
