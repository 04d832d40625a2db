"""The paper's hyperparameters (its Table of training hyperparameters and inference appendix) as named settings."""

from pydantic import Field

from ...core.settings import Settings


class ModelSettings(Settings):
    """Sizes of encoder, transformer and predictor."""

    raw_features: int = Field(9, ge=9, description="9 geometric ones, more if a features file is added")
    hidden: int = Field(64, gt=0)
    width: int = Field(128, gt=0, multiple_of=4)
    layers: int = Field(4, ge=0)
    heads: int = Field(4, gt=0)
    feed_forward: int = Field(256, gt=0)
    dropout: float = Field(0.1, ge=0, lt=1)
    attention: bool = Field(True, description="False: the MLP ablation, every layer sees its own token only")


class GroupingSettings(Settings):
    """From pair probabilities to groups."""

    weight_probability: float = Field(0.6, ge=0, description="w_P in the affinity")
    weight_feature: float = Field(0.4, ge=0, description="w_F in the affinity")
    threshold: float = Field(0.5, description="affinity a match needs; 0.6 in training, 0.5 at inference")
    two_view_threshold: float = Field(0.8, description="affinity that the match of a two-view group needs")
    min_cosine: float = Field(-1.0, ge=-1, le=1, description="theta_emb: cosine of embeddings that a match needs")
    min_probability: float = Field(0.0, ge=0, le=1, description="pair probability that a match needs")
    min_confidence: float = Field(0.3, description="groups below are pruned in training")


class LossSettings(Settings):
    """Weights and temperature of the three losses."""

    association: float = 1.0
    contrastive: float = 0.5
    temporal: float = 0.25
    temperature: float = Field(0.07, gt=0)


class LinkSettings(Settings):
    """Linking of groups over time, in training and at inference."""

    weight_distance: float = Field(0.6, description="alpha")
    weight_similarity: float = Field(0.4, description="beta")
    max_distance: float = Field(0.5, gt=0, description="theta_dist, world units")
    min_similarity: float = Field(0.6, description="theta_sim, cosine")
    gap_distance_scale: float = 0.15
    gap_similarity_drop: float = 0.04
    similarity_floor: float = 0.1
    memory: int = Field(10, ge=1, description="frames that the fallback looks back in training")
