import { report, rowAfter } from "./decode.js";
import { colour, css, state } from "./state.js";

/** Row of the body of track k that is nearest before the shown frame, or -1; long recordings have not all of them. */
function bodyAt(k) {
  const set = report.poses;
  const row = rowAfter(set, k, state.frame);
  if (row < set.start[k + 1] && set.frame[row] === state.frame) return row;
  return -1;
}

/** Draw the bodies of the shown frame; place(row, part) gives [x, y] on the canvas, or null. */
export function drawBodies(context, place) {
  const set = report.poses;
  if (!set || !state.bodies) return;
  const count = set.parts.length;
  context.lineCap = "round";
  for (let k = 0; k < set.size; k++) {
    const row = bodyAt(k);
    if (row < 0) continue;
    const at = Array.from({ length: count }, (_, part) => place(row, part));
    const faint = state.selected >= 0 && state.selected !== k;
    context.globalAlpha = faint ? 0.25 : 0.95;
    for (const [ink, wide] of [[css("view"), 3.6], [colour(k), 1.8]]) {
      context.strokeStyle = context.fillStyle = ink;
      context.lineWidth = wide;
      context.beginPath();
      for (const [a, b] of set.edges) {
        if (!at[a] || !at[b]) continue;
        context.moveTo(...at[a]);
        context.lineTo(...at[b]);
      }
      context.stroke();
      at.forEach((p, part) => {
        if (!p) return;
        context.beginPath();
        context.arc(p[0], p[1], wide * 0.85, 0, 2 * Math.PI);
        if (set.observed[row * count + part]) context.fill();
        else if (ink !== css("view")) {
          context.lineWidth = 1;
          context.stroke();
        }
      });
    }
  }
  context.globalAlpha = 1;
}

/** Bodies in the view of a camera; X and Y lead from the image to the canvas. */
export function drawViewBodies(context, index, X, Y) {
  const set = report.poses;
  if (!set) return;
  const count = set.parts.length;
  const cameras = report.cameras.length;
  drawBodies(context, (row, part) => {
    const i = 2 * ((row * cameras + index) * count + part);
    const [u, v] = [set.pixels[i], set.pixels[i + 1]];
    return Number.isNaN(u + v) ? null : [X(u), Y(v)];
  });
}

/** Bodies in 3D; at(point) gives its place on the screen and its depth. */
export function drawSceneBodies(context, at) {
  const set = report.poses;
  if (!set) return;
  const count = set.parts.length;
  drawBodies(context, (row, part) => {
    const p = set.xyz.subarray(3 * (row * count + part), 3 * (row * count + part) + 3);
    if (Number.isNaN(p[0] + p[1] + p[2])) return null;
    const s = at(p);
    return s[2] > 0 ? [s[0], s[1]] : null;
  });
}
