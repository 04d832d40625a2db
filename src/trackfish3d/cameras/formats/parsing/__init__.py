"""Files and poses that readers of calibrations share: MATLAB's, OpenCV's, a pose from points."""
