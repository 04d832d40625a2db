"""TrackFish3D: a 3D trajectory for every fish of a school filmed by several calibrated cameras."""

__version__ = "0.1.0"
