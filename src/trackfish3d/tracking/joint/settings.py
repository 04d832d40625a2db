"""Settings of the joint tracker."""

from pydantic import Field

from ..method import MethodSettings


class JointSettings(MethodSettings):
    """Settings of the joint tracker. All of them are numbers of frames or of log-likelihood, none is a length."""

    window: int = Field(default=12, ge=2, description="frames after which a candidate is confirmed or dropped: the delay")
    max_age: int = Field(default=30, ge=0, description="frames a confirmed track may go unseen")
    candidate_age: int = Field(default=2, ge=0, description="frames a candidate may go unseen")
    most_spread: float = Field(default=2.0, gt=0, description="uncertainty at which a track is lost, body lengths")
    most_loss: float = Field(default=15.0, gt=0, description="fall of its score at which a candidate is dropped")
    least_birth: float = Field(default=0.0, description="score of a first sighting that makes a candidate")
    least: float = Field(default=30.0, description="score that confirms a candidate")
    gate: float = Field(default=20.0, gt=0, description="largest squared distance of a detection, in deviations")
    most_nodes: int = Field(default=20000, ge=1, description="steps after which the search in a component ends")
    most_candidates: int = Field(default=3000, ge=1, description="candidates alive at most")
    fit_rounds: int = Field(default=2, ge=0, description="runs on a stretch of the recording that fit noise and chances")
    fit_frames: int = Field(default=200, ge=10, description="frames of that stretch")
    burst_share: float = Field(default=0.01, ge=0, lt=1, description="chance of a dart in a frame")
    stitch_gap: int = Field(default=60, ge=0, description="frames over which fragments are joined")
    stitch_least: float = Field(default=0.0, description="log-odds that a join must have")
    swap_least: float = Field(default=2.0, description="log-odds at which two tracks are exchanged")
    swap_reach: float = Field(default=1.0, ge=0, description="distance of two tracks that may be exchanged, body lengths")
    mend_rounds: int = Field(default=12, ge=0, description="rounds of exchanging and joining")
    horizon: int = Field(default=40, ge=0, description="frames ahead on which a doubtful choice is tried")
    doubt: float = Field(default=12.0, ge=0, description="loss of log-likelihood below which a choice is doubtful")
    caution: float = Field(default=1.0, gt=0, description="factor on the fitted pixel noise")
    most_debt: float = Field(default=80.0, gt=0, description="log-unlikelihood of going unseen at which a track is lost")
