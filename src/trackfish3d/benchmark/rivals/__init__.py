"""The paper's learned rivals: teaching them, and the crops that they see."""

from .teaching import labelled, rival_names, train_baseline

__all__ = ["labelled", "rival_names", "train_baseline"]
