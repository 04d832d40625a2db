"""Whether a recording's cameras agree: calibration, synchronisation and water, judged without ground truth."""

from .agreement import Sample, ViewErrors, pair_errors
from .findings import Finding
from .verdict import Health, examine

__all__ = ["Finding", "Health", "Sample", "ViewErrors", "examine", "pair_errors"]
