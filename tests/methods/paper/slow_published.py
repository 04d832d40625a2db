"""The published tracker once more, plainly: one object a track, one loop a rule, SciPy's assignment."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment


@dataclass
class Track:
    number: int
    position: np.ndarray
    embedding: np.ndarray
    velocity: np.ndarray
    first_frame: int
    last_frame: int
    first_position: np.ndarray
    first_embedding: np.ndarray


def unit(x):
    return x / np.linalg.norm(x)


class SlowTracker:
    """As `PaperTracker`, but for the one-by-one way it works."""

    def __init__(self, settings, predict):
        self.settings, self.predict = settings, predict
        self.alive, self.dead, self.count = [], [], 0

    def rolled(self, embedding, gap):
        for _ in range(min(gap, self.settings.max_rollout)):
            embedding = self.predict(embedding[None])[0]
        return unit(embedding)

    def update(self, frame, position, embedding):
        s, link = self.settings, self.settings.link
        for track in list(self.alive):
            if frame - track.last_frame - 1 > s.max_age:
                self.alive.remove(track)
                self.dead.append(track)
        number = [-1] * len(position)
        cost = np.zeros((len(self.alive), len(position)))
        allowed = np.zeros(cost.shape, bool)
        for i, track in enumerate(self.alive):
            gap = frame - track.last_frame - 1
            far = link.max_distance * (1 + 0.15 * gap)
            like = max(0.1, link.min_similarity - 0.04 * gap)
            ahead = track.position + track.velocity * (gap + 1)
            vector = self.rolled(track.embedding, gap)
            for j in range(len(position)):
                distance = np.linalg.norm(ahead - position[j])
                similarity = vector @ unit(embedding[j])
                cost[i, j] = link.weight_distance * distance / far + link.weight_similarity * (1 - similarity)
                allowed[i, j] = distance <= far and similarity >= like
        for i, j in zip(*linear_sum_assignment(cost), strict=True):
            if allowed[i, j]:
                track = self.alive[i]
                new = (position[j] - track.position) / (frame - track.last_frame)
                track.velocity = 0.7 * new + 0.3 * track.velocity
                track.position, track.embedding, track.last_frame = position[j], embedding[j], frame
                number[j] = track.number
        for j in range(len(position)):
            if number[j] < 0:
                number[j] = self.count
                self.alive.append(
                    Track(self.count, position[j], embedding[j], np.zeros(3), frame, frame, position[j], embedding[j])
                )
                self.count += 1
        return number

    def finish(self):
        tracks = sorted([*self.dead, *self.alive], key=lambda t: (t.first_frame, t.number))
        label = {t.number: t.number for t in tracks}
        followed = set()
        for b in tracks:
            best, chosen = -np.inf, None
            for a in tracks:
                gap = b.first_frame - a.last_frame
                distance = np.linalg.norm(a.position - b.first_position)
                if gap <= 0 or distance > 2.0 or a.number in followed:
                    continue
                raw = unit(a.embedding) @ unit(b.first_embedding)
                similarity = max(raw, self.rolled(a.embedding, gap - 1) @ unit(b.first_embedding))
                score = similarity - 0.1 * gap / 100 - 0.05 * distance / 2.0
                if similarity > 0.45 and score > best:
                    best, chosen = score, a
            if chosen is not None:
                label[b.number] = label[chosen.number]
                followed.add(chosen.number)
        return [label[n] for n in range(self.count)]
