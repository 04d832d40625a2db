import { report } from "./decode.js";
import { ticks } from "./dom.js";
import { add, norm, sub } from "./matrix.js";

// What stands still: the box around the animals, its floor, the cameras.
export const { low, high, up, frustums, water } = report.space;
export const middle = add(low, high).map((x) => x / 2);
export const radius = norm(sub(high, low)) / 2;
export const upAxis = up.findIndex((x) => Math.abs(x) > 0.5);
export const flatAxes = [0, 1, 2].filter((k) => k !== upAxis);
export const floor = up[upAxis] > 0 ? low[upAxis] : high[upAxis];

/** Corner of the box; bit k of its number says low or high on axis k. */
export const corner = (bits) => [0, 1, 2].map((k) => ((bits >> k) & 1 ? high[k] : low[k]));
export const grid = flatAxes.map((k) => ticks(low[k], high[k], 6));
export const upTicks = ticks(low[upAxis], high[upAxis], 5);

/** Edges of the box. */
export function boxPieces() {
  const list = [];
  for (let k = 0; k < 3; k++) for (let a = 0; a < 8; a++) if (!((a >> k) & 1)) list.push([corner(a), corner(a | (1 << k))]);
  return list;
}

/** Lines on its floor. */
export function floorPieces() {
  const list = [];
  flatAxes.forEach((k, i) => {
    const other = flatAxes[1 - i];
    for (const value of grid[i]) {
      const a = [0, 0, 0];
      a[upAxis] = floor;
      a[k] = value;
      const b = a.slice();
      a[other] = low[other];
      b[other] = high[other];
      list.push([a, b]);
    }
  });
  return list;
}

/** Edges of the cameras' pyramids. */
export function cameraPieces() {
  return frustums.flatMap((f) => [1, 2, 3, 4].flatMap((i) => [[f[0], f[i]], [f[i], f[(i % 4) + 1]]]));
}
