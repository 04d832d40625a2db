import { report, rowAt } from "./decode.js";
import { colour, css, state } from "./state.js";
import { short } from "./dom.js";
import { corner, flatAxes, floor, frustums, grid, high, low, middle, upAxis, upTicks } from "./room.js";

/** Tracks that have a known place in the shown frame. */
export function living() {
  const out = [];
  for (let k = 0; k < report.tracks.size; k++) {
    const row = rowAt(report.tracks, k, state.frame);
    if (row >= 0 && !Number.isNaN(report.tracks.xyz[3 * row])) out.push({ k, row, place: report.tracks.xyz.subarray(3 * row, 3 * row + 3) });
  }
  return out;
}

/** Numbers along the box; at(point) gives its place on the screen. */
export function drawTicks(context, at) {
  context.fillStyle = css("muted");
  context.textAlign = "center";
  const base = corner(0);
  base[upAxis] = floor;
  const centre = at(middle);
  const names = "xyz";
  const unitName = report.units === "unit" ? "" : ` (${report.units})`;
  const nearer = flatAxes.map((k, i) => {
    const other = flatAxes[1 - i];
    const edges = [low[other], high[other]].map((v) => {
      const p = base.slice();
      p[other] = v;
      p[k] = middle[k];
      return { v, s: at(p) };
    });
    return edges[0].s[2] < edges[1].s[2] ? edges[0] : edges[1];
  });
  flatAxes.forEach((k, i) => {
    const other = flatAxes[1 - i];
    const edge = nearer[i];
    const shared = nearer[1 - i].v; // where both labelled edges meet: one number there is enough
    const outward = [edge.s[0] - centre[0], Math.max(edge.s[1] - centre[1], 20)];
    const length = Math.hypot(...outward);
    for (const value of [...grid[i], null]) {
      if (i && value !== null && Math.abs(value - shared) < 0.08 * (high[k] - low[k])) continue;
      const p = base.slice();
      p[other] = edge.v;
      p[k] = value === null ? middle[k] : value;
      const s = at(p);
      const gap = value === null ? 30 : 13;
      const text = value === null ? names[k] + unitName : short(value);
      if (s[2] > 0) context.fillText(text, s[0] + (gap * outward[0]) / length, s[1] + (gap * outward[1]) / length);
    }
  });
  const posts = [0, 1, 2, 3].map((bits) => {
    const p = [0, 0, 0];
    p[flatAxes[0]] = bits & 1 ? high[flatAxes[0]] : low[flatAxes[0]];
    p[flatAxes[1]] = bits & 2 ? high[flatAxes[1]] : low[flatAxes[1]];
    p[upAxis] = middle[upAxis];
    return p;
  });
  const post = posts.reduce((best, p) => (at(p)[0] < at(best)[0] ? p : best));
  context.textAlign = "right";
  for (const value of [...upTicks, null]) {
    const p = post.slice();
    if (value !== null) p[upAxis] = value;
    const s = at(p);
    if (s[2] > 0) context.fillText(value === null ? names[upAxis] + unitName : short(value), s[0] - (value === null ? 32 : 7), s[1]);
  }
}

/** Names beside the cameras. */
export function drawCameraNames(context, at, width, height) {
  context.fillStyle = css("ink");
  context.textAlign = "center";
  frustums.forEach((f, i) => {
    const s = at(f[0]);
    if (s[2] > 0 && s[0] > 0 && s[0] < width && s[1] > 0 && s[1] < height) context.fillText(report.cameras[i].name, s[0], s[1] - 10);
  });
}

/** Numbers beside the animals. */
export function drawNumbers(context, at) {
  const alive = living();
  if (!state.numbers) return;
  context.textAlign = "left";
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = css("panel");
  for (const { k, place } of alive) {
    if (state.selected >= 0 ? state.selected !== k : alive.length > 60) continue;
    const s = at(place);
    if (s[2] <= 0) continue;
    context.strokeText(report.tracks.names[k], s[0] + 8, s[1] - 7);
    context.fillStyle = colour(k);
    context.fillText(report.tracks.names[k], s[0] + 8, s[1] - 7);
  }
}
