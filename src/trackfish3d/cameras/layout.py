"""Where a camera keeps its numbers in one row of ``CameraRig.packed``, so that Numba kernels can use them."""

FX, SKEW, CX, FY, CY = 0, 1, 2, 3, 4
FISHEYE = 5
DIST = 6  # 14 OpenCV coefficients, or 4 fisheye ones
LENS_LIMIT = 20  # largest undistorted radius (fisheye: angle) that the lens model maps one to one
ROT = 21
TRANS = 30
CENTRE = 33
N_INTERFACES = 36
PARALLEL = 37  # 1 if all interfaces share one normal: the refracted path then lies in a plane
LENS_DISTORTED = 38
TILT = 39  # 9 entries: sensor tilt matrix, 9 more: its inverse
THINNEST = 57  # smallest refractive index on the path
ABOVE = 58  # distance from the camera's centre to the last of its parallel interfaces
LAYERS = 59  # per medium from the camera on: thickness, squared index (parallel interfaces only)
MAX_INTERFACES = 4
INTERFACES = LAYERS + 2 * (MAX_INTERFACES + 1)  # each: point 3, normal 3 (to the camera), index before, behind
INTERFACE_SIZE = 8
PACKED_SIZE = INTERFACES + INTERFACE_SIZE * MAX_INTERFACES
