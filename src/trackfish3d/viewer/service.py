"""The page's server: what it may be asked, and the answers."""

import asyncio
import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..core.errors import InputError, TrackFishError
from ..recordings import Recording
from ..recordings.edits import AnyEdit, Change, describe
from .film_pictures import FilmPictures, Superseded
from .requests import Asked, do_edit
from .resolve import resolve
from .store import Store

_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".txt": "text/plain"}
_NO_STORE = {"cache-control": "no-store"}
_POLL, _PATIENCE = 0.25, 20.0  # seconds


class Solve(BaseModel):
    """Frames that are to be solved again."""

    model_config = ConfigDict(extra="forbid", strict=True)

    first: int = Field(ge=-(2**53), le=2**53)
    last: int = Field(ge=-(2**53), le=2**53)


class Window(BaseModel):
    """A stretch of frames in bins."""

    first: int = Field(ge=-(2**53), le=2**53)
    last: int = Field(ge=-(2**53), le=2**53)
    bins: int = Field(ge=1, le=4000)


class Service:
    """Answers for some recordings.

    Parameters
    ----------
    recordings : to show.
    """

    def __init__(self, recordings: list[Recording]) -> None:
        self.stores = [Store(r) for r in recordings]
        self.films = [FilmPictures(r.videos) for r in recordings]
        folder = files(__package__) / "data"
        self.pages = {}
        for place in (folder, folder / "vendor"):
            for item in place.iterdir():
                ending = "." + item.name.rpartition(".")[2]
                if item.is_file() and ending in _KINDS:
                    self.pages[item.name] = (_KINDS[ending], item.read_bytes())

    def app(self) -> Starlette:
        """Return the application (ASGI)."""
        one = "/api/{k:int}/"
        routes = [
            Route("/", self._start),
            Route("/static/{name}", self._static),
            Route("/api/recordings", self._recordings),
            Route(one + "meta", self._plain(lambda s, q: s.meta())),
            Route(one + "suspects", self._plain(lambda s, q: _suspects(s))),
            Route(one + "edits", self._plain(lambda s, q: _edits(s))),
            Route(one + "timeline", self._plain(_timeline)),
            Route(one + "epipolar", self._plain(_epipolar)),
            Route(one + "tracks", self._binary(lambda s, q: s.chunk(_whole(q, "first")))),
            Route(one + "detections", self._binary(lambda s, q: s.detections(_whole(q, "first")))),
            Route(one + "poses", self._binary(lambda s, q: s.poses(_whole(q, "first")))),
            Route(one + "frame/{camera:int}/{frame:int}", self._frame),
            Route(one + "changes", self._changes),
            Route(one + "edit", self._edit, methods=["POST"]),
            Route(one + "solve", self._solve, methods=["POST"]),
        ]
        return Starlette(routes=routes, exception_handlers={TrackFishError: _wrong, ValidationError: _wrong})

    def close(self) -> None:
        """End what runs beside."""
        for films in self.films:
            films.close()

    def _store(self, request: Request) -> Store:
        k = int(request.path_params["k"])
        if not 0 <= k < len(self.stores):
            raise InputError(f"recording {k}: there are {len(self.stores)}")
        return self.stores[k]

    async def _start(self, request: Request) -> Response:
        name = "view.html" if len(self.stores) == 1 or "rec" in request.query_params else "start.html"
        kind, content = self.pages[name]
        return Response(content, media_type=kind, headers=_NO_STORE)

    async def _static(self, request: Request) -> Response:
        found = self.pages.get(request.path_params["name"])
        if found is None:
            return Response("not here\n", 404, media_type="text/plain")
        return Response(found[1], media_type=found[0], headers={"cache-control": "no-cache"})

    async def _recordings(self, request: Request) -> Response:
        rows = [await run_in_threadpool(s.summary) for s in self.stores]
        return JSONResponse(rows, headers=_NO_STORE)

    def _plain(self, answer: Callable[[Store, Any], Any]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            found = await run_in_threadpool(answer, self._store(request), request.query_params)
            return JSONResponse(found, headers=_NO_STORE)

        return endpoint

    def _binary(self, answer: Callable[[Store, Any], bytes]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            found = await run_in_threadpool(answer, self._store(request), request.query_params)
            return Response(found, media_type="application/octet-stream", headers=_NO_STORE)

        return endpoint

    async def _frame(self, request: Request) -> Response:
        """Answer with the picture of a frame of the common clock; 204: there is none, 409: a newer one was asked."""
        store, films = self._store(request), self.films[request.path_params["k"]]
        rec, camera, frame = store.recording, request.path_params["camera"], request.path_params["frame"]
        if not 0 <= camera < len(rec.rig):
            raise InputError(f"camera {camera}: there are {len(rec.rig)}")
        name = rec.rig.names[camera]
        if name not in rec.videos:
            return Response(status_code=204, headers=_NO_STORE)
        number = _signed(request, frame) - rec.info.first_frame - rec.info.time_offset_frames.get(name, 0)
        width = min(max(int(request.query_params.get("width", "1280")), 64), 8192)
        asked = films.ask(request.query_params.get("window", "")[:40], name, number, width)
        try:
            jpeg = await asyncio.wrap_future(asked)
        except Superseded:
            return Response(status_code=409, headers=_NO_STORE)
        if jpeg is None:
            return Response(status_code=204, headers=_NO_STORE)
        return Response(jpeg, media_type="image/jpeg", headers={"x-frame": str(_signed(request, frame)), **_NO_STORE})

    async def _changes(self, request: Request) -> Response:
        """Wait until tracks or edits are others than the page knows, a while at most."""
        store, known = self._store(request), request.query_params.get("since", "")
        waited = 0.0
        while store.version == known and waited < _PATIENCE:
            if await request.is_disconnected():
                break
            await asyncio.sleep(_POLL)
            waited += _POLL
        if store.version.partition(".")[0] != known.partition(".")[0] and known:
            await run_in_threadpool(store.renew)
        return JSONResponse({"version": store.version}, headers=_NO_STORE)

    async def _edit(self, request: Request) -> Response:
        asked = Asked.model_validate(await _json(request))
        store = self._store(request)
        change = await run_in_threadpool(do_edit, store, asked)
        return JSONResponse({"said": str(change), **_edits(store), "change": _change(change)}, headers=_NO_STORE)

    async def _solve(self, request: Request) -> Response:
        asked = Solve.model_validate(await _json(request))
        store = self._store(request)
        found = await run_in_threadpool(resolve, store, asked.first, asked.last)
        return JSONResponse({"said": found.text, "changes": found.lines, **_edits(store)}, headers=_NO_STORE)


async def _json(request: Request) -> Any:
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError):
        raise InputError("the request is not JSON") from None


async def _wrong(request: Request, error: Exception) -> Response:
    """One line, as on the command line."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        text = f"{'.'.join(str(p) for p in first['loc']) or 'request'}: {first['msg']}"
    else:
        text = str(error)
    return JSONResponse({"error": text}, 400, headers=_NO_STORE)


def _whole(query: Any, name: str) -> int:
    try:
        return int(query.get(name, ""))
    except ValueError:
        raise InputError(f"{name}: give a whole number") from None


def _signed(request: Request, frame: int) -> int:
    """Frame numbers may be below zero, which an address cannot say: ``minus`` does."""
    return -frame if "minus" in request.query_params else frame


def _timeline(store: Store, query: Any) -> dict[str, Any]:
    asked = Window.model_validate(dict(query))
    if asked.first > asked.last:
        raise InputError("timeline: the first frame is behind the last")
    return store.timeline(asked.first, asked.last, asked.bins)


def _epipolar(store: Store, query: Any) -> list[Any]:
    try:
        u, v = float(query.get("u", "")), float(query.get("v", ""))
    except ValueError:
        raise InputError("u, v: give numbers") from None
    return store.epipolar(_whole(query, "camera"), u, v)


def _suspects(store: Store) -> list[dict[str, Any]]:
    return [
        {
            "first": m.suspect.first,
            "last": m.suspect.last,
            "track": m.track,
            "other": m.other,
            "kind": m.suspect.kind,
            "probability": round(m.probability, 6),
            "state": m.state,
            "id": f"{m.suspect.kind}/{m.suspect.first}/{m.suspect.last}/{m.suspect.track}/{m.suspect.other}",
        }
        for m in store.moments()
        if m.state != "gone"
    ]


def _edits(store: Store) -> dict[str, Any]:
    if store.editor is None:
        return {"version": store.version, "active": [], "undone": []}
    log, held = store.editor.log, {e.id for e in store.editor.edits}
    return {
        "version": store.version,
        "active": [
            {
                "id": e.id,
                "text": describe(e),
                "frames": e.frames,
                "held": e.id in held,
                "tracks": e.names[:2],
                "at": _moment(e),
            }
            for e in log.active
        ],
        "undone": [{"id": e.id, "text": describe(e)} for e in log.undone],
    }


def _moment(edit: AnyEdit) -> int | None:
    """Frame at which an edit is best looked at."""
    known = [getattr(edit, "first", None), getattr(edit, "frame", None), *(p.other.frame for p in edit.pins[:1])]
    return next((int(frame) for frame in known if frame is not None), None)


def _change(change: Change) -> dict[str, Any]:
    return {"frames": change.frames, "points": change.points, "views": change.views, "kind": change.edit.kind}
