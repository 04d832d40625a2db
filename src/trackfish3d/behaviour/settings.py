"""Settings of an analysis."""

from typing import Literal

from pydantic import Field

from ..core.settings import Settings
from .abnormal.anomaly import AnomalySettings


class AnalysisSettings(Settings):
    """What is measured how; times in seconds, so that one set serves all frame rates."""

    max_gap_s: float = Field(default=1.0, ge=0, description="a track unseen for longer starts afresh")
    observed_only: bool = Field(default=False, description="leave interpolated points out of all measures")
    tortuosity_s: float = Field(default=1.0, gt=0, description="window of straightness")
    max_delay_s: float = Field(default=1.0, gt=0, description="longest delay between leader and follower")
    burst_rise: float = Field(default=0.3, gt=0, description="rise of speed that makes a burst, share of the usual")
    start_speed: float = Field(default=3.0, gt=1, description="speed of a fast start, in units of the usual one")
    stimulus: int | None = Field(default=None, description="frame of a stimulus that latencies are counted from")
    headings: Literal["body", "velocity"] = Field(
        default="body", description="where animals point: as their bodies do where tracks know, or as they swim"
    )
    shortest: float = Field(default=0.3, ge=0, le=1, description="share of the frames a track needs to be summarised")
    map_bins: int = Field(default=41, ge=3, le=401, description="cells of a neighbour map, each way")
    tank_bins: int = Field(default=40, ge=2, le=400, description="cells along the longest side of the tank")
    midline: str | None = Field(
        default=None, description="of poses: parts from head to tail, with commas; by their names"
    )
    angles: str | None = Field(
        default=None, description="of poses: angles to measure, as in snout-centre-tail, with commas"
    )
    anomaly: AnomalySettings = AnomalySettings()
