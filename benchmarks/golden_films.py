"""Small films of ellipses that swim on circles, made without the simulator (see golden.py)."""

import functools
from pathlib import Path

import numpy as np

FILMS = {"strong": (70.0, 1.5), "weak": (14.0, 2.5)}  # how much darker fish are, and noise, grey levels
FILM_FRAMES, FILM_FISH, WIDE, HIGH, FOCAL, AWAY = 40, 5, 240, 180, 300.0, 30.0
FILM_CAMERAS = {"left": -0.6, "middle": 0.0, "right": 0.6}  # rotation about the vertical, rad


class SkippedError(Exception):
    """Something optional is not installed."""


@functools.cache
def film(name: str) -> Path:
    """Write a recording whose small films show ellipses that swim on circles."""
    folder = Path(f"film_{name}")
    (folder / "videos").mkdir(parents=True)
    dark, noise = FILMS[name]
    tables = []
    for k, (camera, angle) in enumerate(FILM_CAMERAS.items()):
        write_film(folder / "videos" / f"{camera}.mkv", angle, dark, noise, k)
        tables.append(
            f'[cam_{k}]\nname = "{camera}"\nsize = [{WIDE}, {HIGH}]\n'
            f"matrix = [[{FOCAL}, 0.0, {WIDE / 2}], [0.0, {FOCAL}, {HIGH / 2}], [0.0, 0.0, 1.0]]\n"
            f"distortions = [0.0, 0.0, 0.0, 0.0, 0.0]\nrotation = [0.0, {angle}, 0.0]\n"
            f"translation = [0.0, 0.0, {AWAY}]\n\n"
        )
    (folder / "cameras.toml").write_text("".join(tables) + '[metadata]\nunits = "cm"\n')
    (folder / "recording.toml").write_text(f"fps = 30.0\nfirst_frame = 0\nframe_count = {FILM_FRAMES}\n")
    return folder


def write_film(path: Path, angle: float, dark: float, noise: float, seed: int) -> None:
    """Draw and write one film, without loss."""
    try:
        import av
    except ImportError:
        raise SkippedError("films need av") from None
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:HIGH, :WIDE]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=30)
        stream.width, stream.height, stream.pix_fmt = WIDE, HIGH, "gray"
        for f in range(FILM_FRAMES):
            picture = 130 + 6 * np.sin(x / 9) + noise * rng.standard_normal((HIGH, WIDE))
            for k in range(FILM_FISH):
                (u, v), (u1, v1) = (seen(k, t, angle) for t in (f, f + 0.1))
                turn = np.arctan2(v1 - v, u1 - u)
                along = (x - u) * np.cos(turn) + (y - v) * np.sin(turn)
                across = (y - v) * np.cos(turn) - (x - u) * np.sin(turn)
                picture = picture - dark * ((along / 14) ** 2 + (across / 5) ** 2 <= 1)
            grey = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(grey, format="gray")))
        container.mux(stream.encode())


def seen(fish: int, frame: float, angle: float) -> tuple[float, float]:
    """Pixel of a fish of the films."""
    turn = 0.05 * frame * (1 + 0.3 * fish) + 2.1 * fish
    p = np.array([(3 + fish) * np.cos(turn), 5.5 * np.sin(0.7 * turn + fish), (3 + 0.7 * fish) * np.sin(turn)])
    c, s = np.cos(angle), np.sin(angle)
    q = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ p + [0, 0, AWAY]
    return FOCAL * q[0] / q[2] + WIDE / 2, FOCAL * q[1] / q[2] + HIGH / 2
