"""The ``taught`` detector: a small network that learns from one recording which pixels belong to one animal."""
