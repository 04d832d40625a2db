"""Who is let in, and what nobody gets."""

import json
import subprocess
import sys

import pytest

import trackfish3d as tf
from trackfish3d.recordings import Recording
from trackfish3d.recordings.edits import read_log

from .scenes import Client, filmed


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    recording = filmed(tmp_path_factory.mktemp("guard") / "rec", frames=200, fish=3)
    view = tf.view(recording, browser=False)
    yield recording, view.address
    view.close()


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(shown):
    stranger = Client(shown[1], cookie=False)
    assert stranger.ask("GET", "/")[0] == 401
    assert stranger.ask("GET", "/api/0/meta")[0] == 401
    assert stranger.ask("GET", "/static/viewer.js")[0] == 401
    assert stranger.ask("GET", "/?token=wrong")[0] == 401
    assert stranger.ask("GET", "/api/0/meta", Cookie=f"trackfish3d_{stranger.place.split(':')[1]}=wrong")[0] == 401
    status, headers, _ = stranger.ask("GET", f"/?token={stranger.token}")
    assert status == 303
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]
    friend = Client(shown[1])
    status, headers, body = friend.ask("GET", "/")
    assert status == 200
    assert b"viewer.js" in body
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_other_hosts_and_origins_are_refused(shown):
    friend = Client(shown[1])
    port = friend.place.split(":")[1]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil.example:{port}", ""):
        assert friend.ask("GET", "/api/0/meta", Host=host)[0] == 421, host  # DNS rebinding
    assert friend.ask("GET", "/api/0/meta", Host=f"localhost:{port}")[0] == 200
    swap = json.dumps({"kind": "undo"}).encode()
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", "http://127.0.0.1:1", None):
        assert friend.ask("POST", "/api/0/edit", swap, Origin=origin)[0] == 403, origin
        if origin:
            assert friend.ask("GET", "/api/0/meta", Origin=origin)[0] == 403, origin
    assert friend.ask("GET", "/api/0/meta", Sec_Fetch_Site="cross-site")[0] == 403
    assert friend.ask("POST", "/api/0/edit", swap, Content_Type="text/plain")[0] == 415  # what a form could send
    assert friend.ask("DELETE", "/api/0/edits")[0] == 405


def test_no_path_leads_out_and_no_link_is_served(shown):
    recording, address = shown
    friend = Client(address)
    secret = recording.folder.parent / "secret.js"
    secret.write_text("hidden")
    (recording.folder / "videos" / "link.js").symlink_to(secret)
    for path in (
        "/static/../secret.js", "/static/..%2f..%2fsecret.js", "/static/%2e%2e/%2e%2e/recording.toml",
        "/static//etc/passwd", "/static/%2fetc%2fpasswd", "/../../etc/passwd", "/static/..\\secret.js",
        "/videos/link.js", "/api/0/frame/../../recording.toml", "/api/0/frame/top/3", "/api/-1/meta",
        "/static/vendor/three.js",
    ):  # fmt: skip
        status, _, body = friend.ask("GET", path)
        assert status in (400, 404), path
        assert b"hidden" not in body
        assert b"root:" not in body
    assert friend.ask("GET", "/api/7/meta")[0] == 400
    assert friend.ask("GET", "/api/0/frame/9/3")[0] == 400
    assert friend.ask("GET", "/static/three.js")[0] == 200


def status_of(client, *request, **headers):
    """Status of an answer, or None where the server hung up before all of it was read, which is as good a no."""
    try:
        return client.ask(*request, **headers)[0]
    except OSError:
        return None


def test_a_gigabyte_is_not_taken(shown):
    friend = Client(shown[1])
    assert status_of(friend, "POST", "/api/0/edit", b"x", Content_Length=str(2**30)) in (413, None)
    pieces = (b"10000\r\n" + b"x" * 65536 + b"\r\n") * 4 + b"0\r\n\r\n"
    chunked = {"Transfer_Encoding": "chunked", "Content_Length": None}
    assert status_of(friend, "POST", "/api/0/edit", pieces, **chunked) in (413, None)
    assert friend.ask("GET", "/api/0/meta")[0] == 200
    assert status_of(friend, "GET", "/" + "a" * 70000) in (400, 404, 414, 431, None)
    assert friend.ask("GET", "/api/0/meta")[0] == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"kind":"erase"}', b'{"kind":"swap","track":"1"}', b'{"kind":"swap"}', b"[" * 20000,
     b'{"kind":"swap","track":1e400}',
     b'{"kind":"undo","folder":"/etc"}', b'{"kind":"cut","track":99999,"frame":3}'],
)  # fmt: skip
def test_nonsense_is_one_line(shown, body):
    recording, address = shown
    status, _, said = Client(address).ask("POST", "/api/0/edit", body)
    assert status == 400
    assert "\n" not in json.loads(said)["error"]
    assert "Traceback" not in said.decode()
    assert read_log(recording.folder / "edits.jsonl").active == ()


KILLED = """
import os, sys
import trackfish3d as tf
print(tf.view(sys.argv[1], browser=False).wait.__self__.address, flush=True)
sys.stdin.read()
"""
KINDS = [
    {"kind": "swap", "track": 0, "other": 1, "first": 50}, {"kind": "cut", "track": 2, "frame": 60},
    {"kind": "delete", "track": 1, "first": 80, "last": 85}, {"kind": "rename", "track": 0, "new": 77},
    {"kind": "fill", "track": 1}, {"kind": "accept", "track": 1, "other": 77, "first": 10, "last": 20},
    {"kind": "join", "track": 2, "other": 3}, {"kind": "undo"}, {"kind": "redo"},
]  # fmt: skip


def test_what_was_acknowledged_survives_a_kill_after_each_kind_of_edit(tmp_path):
    recording = filmed(tmp_path / "rec", frames=120, fish=3)
    tracks = recording.tracks
    place = tracks.position[(tracks.track == 1) & (tracks.frame == 82)]
    seen = {c.name: c.project(place)[0].tolist() for c in recording.rig.cameras}
    point = {"kind": "point", "track": 1, "frame": 82, "pixels": seen}
    expected: list[str] = []
    for asked in [*KINDS[:3], point, *KINDS[3:]]:
        server = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(recording.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            friend = Client(server.stdout.readline().strip())
            status, said = friend.post("/api/0/edit", asked)
        finally:
            server.kill()
            server.wait()
        assert status == 200, said
        if asked["kind"] == "undo":
            undone = expected.pop()
        elif asked["kind"] == "redo":
            expected.append(undone)
        else:
            expected.append(asked["kind"])
        assert [e.kind for e in read_log(recording.folder / "edits.jsonl").active] == expected
    assert len(Recording.open(recording.folder).mended_tracks)


def test_two_windows_lose_no_edit_and_both_see_it(tmp_path):
    recording = filmed(tmp_path / "rec", frames=120, fish=4)
    view = tf.view(recording, browser=False)
    try:
        one, other = Client(view.address), Client(view.address)
        seen = one.get("/api/0/edits")["version"]
        assert one.post("/api/0/edit", {"kind": "swap", "track": 0, "other": 1, "first": 50, "seen": seen})[0] == 200
        # the second window still shows the old tracks: an edit of others is taken, one of the same is not
        status, said = other.post("/api/0/edit", {"kind": "cut", "track": 2, "frame": 60, "seen": seen})
        assert status == 200, said
        status, said = other.post("/api/0/edit", {"kind": "swap", "track": 1, "other": 3, "first": 70, "seen": seen})
        assert status == 400
        assert "another window" in said["error"]
        news = other.get(f"/api/0/changes?since={seen}")
        assert news["version"] != seen
        assert one.get("/api/0/edits") == other.get("/api/0/edits")
        assert [e["text"].split()[0] for e in other.get("/api/0/edits")["active"]] == ["swap", "cut"]
        tf.edit(recording.folder).rename(0, 40)  # from the shell
        assert one.get(f"/api/0/changes?since={news['version']}")["version"] != news["version"]
        assert 40 in one.get("/api/0/timeline?first=0&last=119&bins=10")["names"]
    finally:
        view.close()


def test_a_missing_extra_and_a_taken_port_are_one_line(shown, monkeypatch):
    port = int(Client(shown[1]).place.split(":")[1])
    with pytest.raises(tf.InputError, match=f"--port {port}: cannot be used"):
        tf.view(shown[0], port=port, browser=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(tf.MissingExtraError, match="view"):
        tf.view(shown[0], browser=False)
