// Two ways to go on from a suspect moment, side by side: in 3D, and in the view that tells them apart best.
import { along, tracks } from "./chunks.js";
import { identity } from "./colours.js";
import { $, css, on, state } from "./state.js";
import { films } from "./views.js";

const AROUND = 20; // frames before and after

const current = () => (state.suspect >= 0 ? state.suspects[state.suspect] : null);

/** Points of a track about a moment: {frame, at, pixels}. */
function points(track, first, last) {
  const out = [];
  along(track, first, last, (c, r) => {
    out.push({ frame: c.frame[r], at: [c.x[r], c.y[r], c.z[r]], pixels: c.pixels.map(([u, v]) => [u[r], v[r]]) });
  });
  return out;
}

/** Where two tracks are nearest to each other within a moment: the frame from which an exchange would count. */
export function nearest(s) {
  if (s.track === s.other) return s.last;
  for (let f = s.first; f <= s.last; f += state.meta.chunk) tracks.at(f);
  const [a, b] = [s.track, s.other].map((t) => new Map(points(t, s.first, s.last + 1).map((p) => [p.frame, p.at])));
  let [best, least] = [Math.round((s.first + s.last + 1) / 2), Infinity];
  for (const [frame, p] of a) {
    const q = b.get(frame);
    const gap = q ? Math.hypot(...p.map((x, i) => x - q[i])) : Infinity;
    if (gap < least) [best, least] = [frame, gap];
  }
  return best;
}

function prepared(canvas) {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const [w, h] = [canvas.clientWidth, canvas.clientHeight];
  Object.assign(canvas, { width: Math.max(1, Math.round(w * ratio)), height: Math.max(1, Math.round(h * ratio)) });
  const g = canvas.getContext("2d");
  g.scale(ratio, ratio);
  return [g, w, h];
}

/** Draw pasts and futures of both tracks; exchanged, each past has the colour of the other's future. */
function paint(g, both, at, exchanged, place) {
  for (const [k, mine] of both.entries()) {
    const names = [state.suspects[state.suspect].track, state.suspects[state.suspect].other];
    for (const future of [false, true]) {
      const whose = exchanged && future ? 1 - k : k;
      g.strokeStyle = g.fillStyle = identity(names[whose]);
      g.lineWidth = 2.5;
      g.setLineDash(whose === 1 ? [5, 3] : []); // never by colour alone
      g.beginPath();
      mine.filter((p) => (future ? p.frame >= at - 1 : p.frame < at)).forEach((p, i) => {
        const q = place(p);
        if (i) g.lineTo(...q);
        else g.moveTo(...q);
      });
      g.stroke();
      g.setLineDash([]);
    }
    const now = mine.find((p) => p.frame === state.frame);
    if (now) {
      const whose = exchanged && state.frame >= at ? 1 - k : k;
      const q = place(now);
      g.fillStyle = identity(names[whose]);
      g.beginPath();
      g.arc(q[0], q[1], 4.5, 0, 7);
      g.fill();
      g.lineWidth = 3;
      g.strokeStyle = css("view");
      g.strokeText(String(names[whose]), q[0] + 6, q[1] - 6);
      g.fillStyle = css("ink");
      g.fillText(String(names[whose]), q[0] + 6, q[1] - 6);
    }
  }
}

function fitted(all, w, h) {
  const low = [Math.min(...all.map((p) => p[0])), Math.min(...all.map((p) => p[1]))];
  const high = [Math.max(...all.map((p) => p[0])), Math.max(...all.map((p) => p[1]))];
  const scale = 0.8 * Math.min(w / Math.max(high[0] - low[0], 1e-9), h / Math.max(high[1] - low[1], 1e-9));
  const middle = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
  return { scale, middle, place: (p) => [w / 2 + (p[0] - middle[0]) * scale, h / 2 + (p[1] - middle[1]) * scale] };
}

/** Axes of the plane in which points spread most: two steps of power iteration each on their scatter. */
function plane(all) {
  const mean = [0, 1, 2].map((k) => all.reduce((s, p) => s + p[k], 0) / all.length);
  const apply = (v) => all.reduce((sum, p) => {
    const d = p.map((x, k) => x - mean[k]);
    const along = d[0] * v[0] + d[1] * v[1] + d[2] * v[2];
    return sum.map((s, k) => s + along * d[k]);
  }, [0, 0, 0]);
  const unit = (v) => v.map((x) => x / (Math.hypot(...v) || 1));
  const axes = [];
  for (const start of [[1, 0.3, 0.2], [0.1, 1, 0.4]]) {
    let v = start;
    for (let i = 0; i < 12; i++) {
      v = apply(v);
      for (const a of axes) {
        const d = v[0] * a[0] + v[1] * a[1] + v[2] * a[2];
        v = v.map((x, k) => x - d * a[k]);
      }
      v = unit(v);
    }
    axes.push(v);
  }
  return (p) => axes.map((a) => a.reduce((s, x, k) => s + x * (p[k] - mean[k]), 0));
}

/** The camera in which the two are farthest apart when they are nearest. */
function tellingView(both) {
  let [best, most] = [0, -1];
  for (let k = 0; k < state.meta.cameras.length; k++) {
    const other = new Map(both[1].map((p) => [p.frame, p.pixels[k]]));
    const gaps = both[0].filter((p) => other.has(p.frame)).map((p) => Math.hypot(p.pixels[k][0] - other.get(p.frame)[0], p.pixels[k][1] - other.get(p.frame)[1]));
    const sure = gaps.filter((x) => !Number.isNaN(x));
    const mean = sure.length ? sure.reduce((a, b) => a + b) / sure.length / state.meta.cameras[k].size[0] : -1;
    if (mean > most) [best, most] = [k, mean];
  }
  return best;
}

function draw() {
  const s = current();
  const two = s && s.track !== s.other;
  $("compare").hidden = !two;
  if (!two) return;
  const both = [s.track, s.other].map((t) => points(t, s.first - AROUND, s.last + AROUND));
  const at = state.range?.at ?? s.last;
  $("comparetitle").textContent = `Tracks ${s.track} and ${s.other}, frames ${s.first} to ${s.last}`;
  const joins = s.kind === "end";
  $("otherway").firstChild.textContent = joins ? "one animal " : "exchanged ";
  $("otherway").querySelector("kbd").textContent = joins ? "J" : "S";
  const every = both.flat();
  if (every.length < 2) return;
  const flat = plane(every.map((p) => p.at));
  const camera = tellingView(both);
  $("comparetext").textContent = `from frame ${at}; below, camera ${state.meta.cameras[camera].name}`;
  for (const [name, exchanged] of [["keep", false], ["swap", true]]) {
    let [g, w, h] = prepared($(`${name}3d`));
    let view = fitted(every.map((p) => flat(p.at)), w, h);
    paint(g, both, at, exchanged && !joins, (p) => view.place(flat(p.at)));
    if (exchanged && joins) link(g, both, (p) => view.place(flat(p.at)));
    [g, w, h] = prepared($(`${name}view`));
    const seen = every.map((p) => p.pixels[camera]).filter((p) => !Number.isNaN(p[0]));
    if (seen.length < 2) continue;
    view = fitted(seen, w, h);
    const image = films[camera].kept.get(state.frame)?.image;
    if (image) {
      const size = state.meta.cameras[camera].size;
      const [x, y] = view.place([0, 0]);
      g.drawImage(image, x, y, size[0] * view.scale, size[1] * view.scale);
    }
    paint(g, both, at, exchanged && !joins, (p) => view.place(p.pixels[camera]));
    if (exchanged && joins) link(g, both, (p) => view.place(p.pixels[camera]));
  }
}

/** The bridge that a join would build. */
function link(g, both, place) {
  const parts = both.filter((b) => b.length).sort((a, b) => a[0].frame - b[0].frame);
  if (parts.length < 2) return;
  g.strokeStyle = css("accent");
  g.setLineDash([2, 3]);
  g.beginPath();
  g.moveTo(...place(parts[0].at(-1)));
  g.lineTo(...place(parts[1][0]));
  g.stroke();
  g.setLineDash([]);
}

export function startCompare() {
  for (const kind of ["frame", "suspects", "look"]) on(kind, draw);
}
