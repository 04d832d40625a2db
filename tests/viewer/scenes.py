"""A recording to look at: animals in a tank with water, a numbered film before each camera, suspects, and a swap."""

import http.client
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

import trackfish3d as tf
from tests.detection.worlds import BITS, CELL, encode, numbered_picture
from tests.report.scenes import make_recording, swimming, water_rig
from trackfish3d.cameras import CameraRig
from trackfish3d.methods.suspects import Suspect, write_suspects
from trackfish3d.recordings import Recording, Tracks

SIZE = (BITS * CELL, 48)
CODED = {"preset": "ultrafast", "crf": "12", "g": "80", "bf": "2", "sc_threshold": "0"}
LOST = [range(30, 34), range(131, 160)]


def small_rig() -> CameraRig:
    """The rig of a tank of water with small pictures."""
    cameras = []
    for c in water_rig():
        share = SIZE[0] / c.size[0]
        K = c.K.copy()
        K[:2] *= share
        K[1, 2] = SIZE[1] / 2
        K[0, 0] = K[1, 1] = 0.35 * K[0, 0]
        cameras.append(replace(c, size=SIZE, K=K))
    return CameraRig(tuple(cameras), "cm")


def filmed(folder: Path, frames: int = 300, fish: int = 5) -> Recording:
    """Animals in water; the film of the first camera lost frames, that of the second has B-frames only."""
    recording = make_recording(folder, small_rig(), fish, frames, middle=(0, 0, -6), half=(7, 7, 4), noise=0.3)
    kept = [k for k in range(frames) if not any(k in gone for gone in LOST)]
    encode(
        folder / "videos" / "top.mp4", (numbered_picture(k) for k in kept), pts=kept, time_base=Fraction(1, 25), fps=25,
        options=CODED,
    )  # fmt: skip
    encode(folder / "videos" / "front.mp4", (numbered_picture(k) for k in range(frames)), fps=25, options=CODED)
    made = recording.tracks
    gap = (made.track == 2) & (made.frame >= 25) & (made.frame < 28)
    recording.write_tracks(replace(made, track=made.track - 1).select(~gap))
    names = recording.tracks.identities.tolist()
    found = [
        Suspect(40 + 30 * k, 46 + 30 * k, names[k], names[k + 1], 0.9 - 0.2 * k, "swap")
        for k in range(min(3, fish - 1))
    ]
    write_suspects([*found, Suspect(200, 208, names[0], names[0], 0.05, "gap")], folder / "suspects.csv")
    return recording


def numbered(folder: Path, kind: str, frames: int = 300) -> tuple[Recording, list[int]]:
    """A recording without tracks whose film lost frames, or changes its rate; and when each picture was taken, ms."""
    camera = replace(water_rig()[0], name="cam0", size=SIZE)
    if kind == "lost":
        kept = [k for k in range(frames) if not any(k in gone for gone in LOST)]
        shown = (numbered_picture(k) for k in kept)
        encode(folder / "videos" / "cam0.mp4", shown, pts=kept, time_base=Fraction(1, 25), fps=25, options=CODED)
        times = [40 * k for k in range(frames)]
    else:
        times = np.cumsum([0, *([33] * 100 + [50] * 100 + [33] * 60 + [70] * 40)])[:frames].tolist()
        shown = (numbered_picture(k) for k in range(frames))
        encode(folder / "videos" / "cam0.mkv", shown, pts=times, time_base=Fraction(1, 1000), options=CODED)
    made = Recording.create(folder, CameraRig((camera,)), frames=(100, frames), time_offset_frames={"cam0": 7})
    return made, times


def schooled(folder: Path, fish: int = 4, frames: int = 40) -> Recording:
    """A simulated school with parts, its tracks and poses those of the animals."""
    recording = tf.simulate(folder, fish=fish, frames=frames, detector="pose", seed=5)
    truth, poses = recording.truth, recording.truth_poses
    recording.write_tracks(
        Tracks.build(
            truth.frame, truth.identity, truth.position, observed=np.ones(len(truth.frame), bool),
            covariance=np.broadcast_to(1e-4 * np.eye(3), (len(truth.frame), 3, 3)), cameras=recording.rig.names,
        )
    )  # fmt: skip
    recording.write_poses(poses)
    write_suspects([], folder / "suspects.csv")
    return recording


class Client:
    """Talks to a server as a browser would, or as one should not."""

    def __init__(self, address: str, cookie: bool = True) -> None:
        self.place, _, self.token = address.removeprefix("http://").partition("/?token=")
        self.cookie = ""
        if cookie:
            status, headers, _ = self.ask("GET", f"/?token={self.token}")
            assert status == 303
            self.cookie = headers["set-cookie"].split(";")[0]

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str):
        connection = http.client.HTTPConnection(self.place, timeout=60)
        given = {"Host": self.place} | ({"Cookie": self.cookie} if self.cookie else {})
        if method == "POST":
            given |= {"Origin": f"http://{self.place}", "Content-Type": "application/json"}
        given |= {k.replace("_", "-"): v for k, v in headers.items()}
        try:
            connection.putrequest(method, path, skip_host=True)
            for k, v in given.items():
                if v is not None:
                    connection.putheader(k, v)
            if body is not None and "content-length" not in {k.lower() for k in given}:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def get(self, path: str):
        status, _, body = self.ask("GET", path)
        assert status == 200, (status, body)
        return json.loads(body)

    def post(self, path: str, content) -> tuple[int, dict]:
        status, _, body = self.ask("POST", path, json.dumps(content).encode())
        return status, json.loads(body)


__all__ = ["Client", "filmed", "numbered", "schooled", "swimming"]
