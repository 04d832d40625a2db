"""Mathematics that several methods share: assignment, Kalman filter."""
