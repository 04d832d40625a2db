"""Settings of the background detector."""

from pydantic import Field

from ..base import DetectorSettings


class BackgroundSettings(DetectorSettings):
    """Settings of the background detector. What is None is learnt from the video."""

    samples: int | None = Field(None, ge=5, le=250, description="pictures over the video that make the background")
    low: float = Field(3.0, gt=0, le=30, description="standard deviations off the background of a blob's pixels")
    high: float = Field(6.0, gt=0, le=60, description="standard deviations of the brightest fifth of a blob's pixels")
    faint: float = Field(0.2, ge=0, lt=1, description="share of the animals' contrast below which pixels are shadow")
    clear: float = Field(0.45, ge=0, lt=1, description="share of the animals' contrast below which blobs are shadow")
    dim: float = Field(0.3, ge=0, lt=1, description="the same for blobs where an animal was a moment ago")
    outline: float = Field(0.35, ge=0, lt=1, description="share of the contrast nearby at which the outline is drawn")
    side: str | None = Field(None, pattern="^(dark|bright|both)$", description="animals are dark, bright or both")
    gap: int | None = Field(None, ge=0, le=30, description="pixels that may part two pieces of one animal")
    close: int | None = Field(None, ge=0, le=30, description="half of the width of cracks to be closed, px")
    min_area: float | None = Field(None, ge=1, description="smallest animal, px^2")
    max_area: float | None = Field(None, ge=1, description="largest single animal, px^2")
    max_length: float | None = Field(None, ge=1, description="longest single animal, px")
    split: bool = Field(True, description="divide blobs of touching animals and join pieces of one")
    remember_seconds: float = Field(0.4, ge=0, description="how long a hidden animal is remembered")
    drift_seconds: float = Field(30.0, gt=0, description="time in which the background follows a change of light")
    absorb_seconds: float = Field(3600.0, gt=0, description="time in which a thing that stays becomes background")
    region: str | None = Field(None, description="polygon to look in: 'x,y x,y x,y', px")
