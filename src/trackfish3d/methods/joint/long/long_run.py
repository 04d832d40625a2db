"""Track a recording section by section: the engine goes through all frames, sections are mended behind it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from ....cameras.rig import CameraRig
from ....core.progress import Progress
from ....recordings.detections import Detections
from ..arguments import FutureFrames
from ..engine import Engine
from ..fit.initialise import initial_model
from ..model import TrackingModel
from ..settings import JointSettings
from .sections import MARGIN, Prepared, Section, Survey, cut, joined
from .state import load_state, save_state
from .windows import Carried, Piece, mend

_FOREVER = 2**62


class LongRun:
    """A recording that is tracked section by section, with the same outcome however it is read, stopped and resumed.

    Parameters
    ----------
    rig : the cameras.
    pieces : gives detections anew at every call, from a frame on, in whole frames, ascending.
    known : of the whole recording.
    settings : of the method.
    """

    def __init__(
        self, rig: CameraRig, pieces: Callable[[int], Iterator[Detections]], known: Survey, settings: JointSettings
    ) -> None:
        self.rig, self.pieces, self.known, self.settings = rig, pieces, known, settings
        middle = next(self._sections(len(known.sections) // 2))
        self.world = Prepared.of(rig, middle, known, None).world
        self.model: TrackingModel = initial_model(self.world.rig, self.world.detections, settings)
        self.engine = Engine(self.world.rig, self.model, settings)
        self._carried = Carried.nothing(len(rig))

    def go(self, progress: Progress, done: int = 0, folder: Path | None = None) -> Iterator[Piece]:
        """Give the finished tracks of one section after the other.

        Parameters
        ----------
        progress : called with frames done and frames in all.
        done : sections that are finished already; their state is in ``folder``.
        folder : where the state after each section is kept before its tracks are given; `forget` removes older ones.
        """
        count = len(self.known.sections)
        if done >= count:
            return
        if done and folder is not None:
            self._carried = load_state(_state(folder, done), self.engine)
        first = max(done - 1, 0)
        frames = self.known.sections[first][2]
        before: Prepared | None = None
        here: Prepared | None = None
        for number, section in enumerate(self._sections(first), first):
            after = Prepared.of(self.rig, section, self.known, self.model)
            if here is not None and number > done:
                yield self._take(before, here, after, progress, frames, folder, number)
            if here is not None:
                frames += len(here.world.detections.frames)
            before, here = None if here is None else here.between(after.begin - MARGIN, after.begin), after
        if here is not None:
            yield self._take(before, here, None, progress, frames, folder, count)

    def _sections(self, number: int) -> Iterator[Section]:
        """Give sections from one on."""
        frame, row, _ = self.known.sections[number]
        return cut(self.pieces(frame), row)

    def forget(self, folder: Path, done: int) -> None:
        """Remove the state before the last.

        Parameters
        ----------
        folder : where it is.
        done : sections that are finished.
        """
        _state(folder, done - 1).unlink(missing_ok=True)

    def _take(
        self,
        before: Prepared | None,
        here: Prepared,
        after: Prepared | None,
        progress: Progress,
        frames: int,
        folder: Path | None,
        done: int,
    ) -> Piece:
        core = here.begin, _FOREVER if after is None else after.begin
        self._step(joined([here] if after is None else [here, after]), core[1] + MARGIN, progress, frames)
        if after is None:
            self.engine.finish()
        around = (before, here, None if after is None else after.between(after.begin, after.begin + MARGIN))
        window = joined([part for part in around if part is not None])
        logs = [g for g in self.engine.logs if g.frame >= core[0]]
        piece, self._carried = mend(window, logs, self.engine.confirmed, core, self._carried, self.model, self.settings)
        self.engine.forget(core[1])
        if folder is not None:
            save_state(_state(folder, done), self.engine, self._carried)
        return piece

    def _step(self, ahead: Prepared, stop: int, progress: Progress, frames: int) -> None:
        """Let the engine take the frames that it has not seen, up to one."""
        found = ahead.world.detections
        obs = replace(ahead.obs.paired(self.world.rig, found, self.model), first=ahead.row)
        seen = self.engine.logs[-1].frame if self.engine.logs else -1
        for k, number in enumerate(found.frames.tolist()):
            if seen < number < stop:
                self.engine.step(number, found.at(k), obs, FutureFrames(found.frames, found.offsets, k))
                progress(min(frames + k + 1, self.known.frames), self.known.frames)


def _state(folder: Path, done: int) -> Path:
    return folder / f"state-{done:06d}.npz"
