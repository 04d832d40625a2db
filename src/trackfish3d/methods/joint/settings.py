"""Settings of the joint tracker."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from ..base import MethodSettings


class JointSettings(MethodSettings):
    """Settings of the joint tracker: numbers of frames and of log-likelihood, and no lengths but in body lengths."""

    animals: int | None = Field(default=None, ge=1, description="number of animals, where it is known")
    scene: Literal["auto", "open", "closed"] = Field(
        default="auto", description="open: animals come and go; closed: who is lost is still there; auto: by the tracks"
    )
    window: int = Field(default=12, ge=2, description="frames after which a candidate is confirmed or dropped")
    horizon: int = Field(default=40, ge=0, description="frames ahead on which a doubtful choice is tried")
    doubt: float = Field(default=12.0, ge=0, description="loss of log-likelihood below which a choice is doubtful")
    least: float = Field(default=30.0, description="score that confirms a candidate")
    least_birth: float = Field(default=-10.0, description="score of a first sighting that makes a candidate")
    most_loss: float = Field(default=15.0, gt=0, description="fall of its score at which a candidate is dropped")
    candidate_age: int = Field(default=2, ge=0, description="frames a candidate may go unseen")
    max_age: int = Field(default=30, ge=0, description="frames a confirmed track may go unseen")
    most_debt: float = Field(default=80.0, gt=0, description="unlikelihood of going unseen at which a track is lost")
    most_spread: float = Field(default=2.0, gt=0, description="uncertainty at which a track is lost, body lengths")
    gate: float = Field(default=20.0, gt=0, description="largest squared distance of a detection, in deviations")
    dart_share: float = Field(default=0.01, ge=0, lt=1, description="chance of a dart in a frame")
    stitch_gap: int = Field(default=60, ge=0, description="frames over which fragments are joined")
    fill_gap: int = Field(default=30, ge=0, description="frames over which the gap of a join is filled by a line")
    stitch_prior: float = Field(default=15.0, description="log-odds that a lost animal is one that appears later")
    swap_least: float = Field(default=2.0, description="log-odds at which two tracks are exchanged")
    swap_reach: float = Field(default=1.0, ge=0, description="distance of tracks that may be exchanged, body lengths")
    fit_rounds: int = Field(
        default=2, ge=0, description="runs on a stretch of the recording that fit noise and chances"
    )
    fit_frames: int = Field(default=200, ge=10, description="frames of that stretch")
    passes: int = Field(
        default=4, ge=1, description="times that the recording is gone through at most, while tracks are torn"
    )
    most_nodes: int = Field(default=20000, ge=1, description="steps after which the search in a component ends")
    most_candidates: int = Field(default=3000, ge=1, description="candidates alive at most")
    detector: Literal["auto", "visible", "whole"] = Field(
        default="auto", description="what boxes show: visible parts, or whole bodies (heads too); auto: by their sizes"
    )
    share: bool = Field(
        default=True,
        description="whether a detection may show two or three animals that overlap",
    )
    tracklets: int = Field(
        default=4, ge=0, description="most cameras with which a crowd's tracklets of two views are compared"
    )
    silhouettes: int = Field(
        default=2, ge=0, description="most cameras with which outlines are compared, too, where they tell animals apart"
    )
    parts: bool = Field(
        default=True, description="whether the parts of bodies decide with their middles, if there are any"
    )
    tool_tracks: bool = Field(
        default=True, description="whether 2D tracks of the tool that made the detections are evidence, if it gave any"
    )
    model: Path | None = Field(default=None, description="pair network of 'trackfish3d learn', as one more cue")
