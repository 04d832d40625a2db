"""What exported detectors answer: the layouts of their outputs, read into boxes, scores and masks.

Boxes are in pixels of the network's input, from edge to edge; ``C`` classes, ``K`` found animals, ``M`` mask
coefficients, ``Q`` queries or anchors.

yolo           (1, 4 + C [+ M], Q) middle, size, scores by class; with masks also prototypes (1, M, h, w)
yolov5         (1, Q, 5 + C [+ M]) the same, with a score of there being anything before those of the classes
end2end        (1, K, 6 [+ M]) corners, score, class, already without doubles; with masks also prototypes
efficient_nms  number of animals, boxes (1, K, 4), scores (1, K), classes (1, K)
rcnn           boxes (K, 4), scores (K,), labels (K,) [, masks (K, 1, h, w)]
detr           logits (1, Q, C) and boxes (1, Q, 4), middle and size in shares of the picture [, masks (1, Q, h, w)]
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Named = list[tuple[str, Floats]]
LAYOUTS = ("yolo", "yolov5", "end2end", "efficient_nms", "rcnn", "detr")


@dataclass(frozen=True, eq=False)
class Found:
    """What a network found: ``boxes`` (K, 4) corners, ``score`` (K,), ``kind`` (K,) class.

    Masks as maps (K, h, w) in ``maps``, positive inside; or as ``weights`` (K, M) of ``prototypes`` (M, h, w).
    Either cover the whole input. ``doubles``: whether an animal may be in it more than once.
    """

    boxes: Floats
    score: Floats
    kind: NDArray[np.int64]
    maps: Floats | None = None
    weights: Floats | None = None
    prototypes: Floats | None = None
    doubles: bool = False

    @property
    def masked(self) -> bool:
        """Whether it has masks."""
        return self.maps is not None or self.weights is not None

    def select(self, rows: NDArray[np.int64]) -> "Found":
        """Return these rows alone."""
        maps = None if self.maps is None else self.maps[rows]
        weights = None if self.weights is None else self.weights[rows]
        return Found(self.boxes[rows], self.score[rows], self.kind[rows], maps, weights, self.prototypes, self.doubles)

    def map_of(self, k: int) -> Floats | None:
        """(h, w) map of one mask, positive inside."""
        if self.maps is not None:
            whole: Floats = self.maps[k]
            return whole
        if self.weights is None or self.prototypes is None:
            return None
        values: Floats = np.tensordot(self.weights[k], self.prototypes, axes=1).astype(np.float32)
        return values


def guess_layout(outputs: Sequence[tuple[str, tuple[int, ...]]], classes: int | None) -> str | None:
    """Layout of outputs with these names and shapes; None where it is none of the known ones.

    ``classes`` is their number, where the file says so: it tells (1, Q, 5 + C) from (1, Q, 4 + C).
    """
    names = [name.lower() for name, _ in outputs]
    shapes = [shape for _, shape in outputs]
    if any("num" in n for n in names) and any(len(s) == 3 and s[2] == 4 for s in shapes) and len(outputs) == 4:
        return "efficient_nms"
    if _detr(outputs) is not None:
        return "detr"
    if any(len(s) == 2 and s[1] == 4 for s in shapes) and sum(len(s) == 1 for s in shapes) >= 2:
        return "rcnn"
    tables = [s for s in shapes if len(s) == 3]
    planes = [s for s in shapes if len(s) == 4]
    if len(tables) != 1 or len(planes) > 1 or len(outputs) != len(tables) + len(planes):
        return None
    rows, columns = tables[0][1:]
    masks = planes[0][1] if planes else 0
    if columns == 6 + masks and (rows != 4 + (classes or rows) + masks or columns < rows):
        return "end2end"
    if classes is not None:
        if rows == 4 + classes + masks:
            return "yolo"
        return "yolov5" if columns == 5 + classes + masks else None
    if 4 + masks < rows < columns:
        return "yolo"
    return "yolov5" if 5 + masks < columns < rows else None


def _detr(outputs: Sequence[tuple[str, tuple[int, ...]]]) -> tuple[int, int] | None:
    """Which outputs are logits and boxes; boxes are those with four columns, and named so where both have four."""
    three = [k for k, (_, shape) in enumerate(outputs) if len(shape) == 3]
    four = [k for k in three if outputs[k][1][2] == 4]
    if len(three) != 2 or not four:
        return None
    named = [k for k in four if any(word in outputs[k][0].lower() for word in ("box", "dets"))]
    boxes = (named or four)[0]
    logits = next(k for k in three if k != boxes)
    return (logits, boxes) if outputs[logits][1][1] == outputs[boxes][1][1] else None


def read_outputs(layout: str, outputs: Named, size: tuple[int, int], classes: int | None) -> Found:
    """Read the outputs of one picture; ``size`` (width, height) of the network's input.

    A ``ValueError`` says what does not fit the layout.
    """
    read = {
        "yolo": _read_yolo,
        "yolov5": _read_yolov5,
        "end2end": _read_end2end,
        "efficient_nms": _read_efficient_nms,
        "rcnn": _read_rcnn,
        "detr": _read_detr,
    }[layout]
    return read(outputs, size, classes)


def _table(outputs: Named) -> tuple[Floats, Floats | None]:
    """Return the table of three axes without its first, and the prototypes, if there are any."""
    table = next((v[0] for _, v in outputs if v.ndim == 3), None)
    if table is None:
        raise ValueError("no output has three axes")
    planes = next((v[0] for _, v in outputs if v.ndim == 4), None)
    return table, planes


def _corners(middle: Floats) -> Floats:
    half = middle[:, 2:4] / 2
    return np.concatenate([middle[:, :2] - half, middle[:, :2] + half], axis=1)


def _best(scores: Floats) -> tuple[Floats, NDArray[np.int64]]:
    if scores.shape[1] == 0:
        raise ValueError("there is no column of scores")
    kind = scores.argmax(1)
    return scores[np.arange(len(scores)), kind], kind


def _read_yolo(outputs: Named, size: tuple[int, int], classes: int | None) -> Found:
    table, planes = _table(outputs)
    rows = table.T
    masks = 0 if planes is None else len(planes)
    end = rows.shape[1] - masks
    score, kind = _best(rows[:, 4:end])
    weights = rows[:, end:] if planes is not None else None
    return Found(_corners(rows), score, kind, weights=weights, prototypes=planes, doubles=True)


def _read_yolov5(outputs: Named, size: tuple[int, int], classes: int | None) -> Found:
    rows, planes = _table(outputs)
    end = rows.shape[1] - (0 if planes is None else len(planes))
    score, kind = _best(rows[:, 4:5] * rows[:, 5:end])
    weights = rows[:, end:] if planes is not None else None
    return Found(_corners(rows), score, kind, weights=weights, prototypes=planes, doubles=True)


def _read_end2end(outputs: Named, size: tuple[int, int], classes: int | None) -> Found:
    rows, planes = _table(outputs)
    if rows.shape[1] < 6:
        raise ValueError(f"its table has {rows.shape[1]} columns, corners, score and class need 6")
    weights = rows[:, 6:] if planes is not None else None
    return Found(rows[:, :4], rows[:, 4], rows[:, 5].astype(np.int64), weights=weights, prototypes=planes)


def _read_efficient_nms(outputs: Named, size: tuple[int, int], classes: int | None) -> Found:
    number = next(v for n, v in outputs if "num" in n.lower())
    boxes = next(v[0] for _, v in outputs if v.ndim == 3)
    rest = [(n, v[0]) for n, v in outputs if v.ndim == 2 and "num" not in n.lower()]
    score = next((v for n, v in rest if "score" in n.lower()), None)
    kind = next((v for n, v in rest if any(w in n.lower() for w in ("class", "label"))), None)
    if score is None or kind is None:
        raise ValueError("no output is named after scores, or after classes")
    count = int(number.ravel()[0])
    return Found(boxes[:count], score[:count], kind[:count].astype(np.int64))


def _read_rcnn(outputs: Named, size: tuple[int, int], classes: int | None) -> Found:
    boxes = next((v for _, v in outputs if v.ndim == 2 and v.shape[1] == 4), None)
    flat = [(n, v) for n, v in outputs if v.ndim == 1]
    named = [v for n, v in flat if "score" in n.lower()]
    scores = named or [v for _, v in flat if v.dtype.kind == "f"]
    if boxes is None or not scores:
        raise ValueError("no output is a table of boxes, or none holds scores")
    kind = next((v for _, v in flat if v is not scores[0]), np.zeros(len(boxes)))
    maps = next((v for _, v in outputs if v.ndim == 4), None)
    maps = None if maps is None else maps[:, 0] - np.float32(0.5)
    return Found(boxes, scores[0], kind.astype(np.int64), maps=maps)


def _read_detr(outputs: Named, size: tuple[int, int], classes: int | None) -> Found:
    which = _detr([(n, v.shape) for n, v in outputs])
    if which is None:
        raise ValueError("no two outputs are logits and boxes of the same queries")
    logits, boxes = outputs[which[0]][1][0], outputs[which[1]][1][0]
    score, kind = _best((1 / (1 + np.exp(-logits.astype(np.float64)))).astype(np.float32))
    maps = next((v[0] for _, v in outputs if v.ndim == 4), None)
    scale = np.array([*size, *size], np.float32)
    return Found(_corners(boxes) * scale, score, kind, maps=maps)
