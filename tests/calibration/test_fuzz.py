"""What a user writes is either understood or refused in one line, whatever it is."""

import contextlib

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trackfish3d.calibration import Board, parse_sources, read_lenses, read_tank
from trackfish3d.core.errors import InputError

from .test_inputs import TANK, blank_views

LENSES = '[{"K": [[900, 0, 640], [0, 900, 480], [0, 0, 1]], "dist": [0.1, 0, 0, 0, 0], "fisheye": false}]'
few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def understood(action):
    with contextlib.suppress(InputError):
        action()


@st.composite
def damaged(draw, text):
    """The text with a stretch of it replaced."""
    start = draw(st.integers(0, len(text)))
    stop = draw(st.integers(start, min(len(text), start + 12)))
    return text[:start] + draw(st.text("0123456789.-+eE[]{},=\"' \nabnif", max_size=8)) + text[stop:]


@few
@given(damaged("charuco:9x6:20:15:5X5_100") | damaged("chessboard:8x5:20") | st.text(max_size=30))
def test_boards(text):
    understood(lambda: Board.parse(text))


@few
@given(damaged(TANK))
def test_tanks(tmp_path, text):
    (tmp_path / "tank.toml").write_text(text)
    understood(lambda: read_tank(tmp_path / "tank.toml"))


@few
@given(damaged("camera,u,v,x,y,z\ntop,10,20,1,2,3\nfront,1,2,3,4,5\n"))
def test_reference_points(tmp_path, text):
    (tmp_path / "points.csv").write_text(text)
    understood(lambda: read_tank(tmp_path / "points.csv"))


@few
@given(damaged(LENSES))
def test_lenses(tmp_path, text):
    (tmp_path / "lens.json").write_text(text)
    understood(lambda: read_lenses(tmp_path / "lens.json", blank_views(("x",))))


@few
@given(st.text(max_size=20) | st.just("x" * 400) | st.just("a=\0b"))
def test_sources(text):
    understood(lambda: parse_sources([text]))
