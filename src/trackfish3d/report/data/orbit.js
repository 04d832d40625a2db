import { announce, change, state } from "./state.js";
import { $, tip } from "./dom.js";
import { report } from "./decode.js";
import { eye, showAnimals, showCameras } from "./scene.js";
import { add, cross, unit } from "./matrix.js";

/** Turn the view by angles, radians. */
export function turn(yaw, pitch) {
  eye.yaw += yaw;
  eye.pitch = Math.max(-1.5, Math.min(1.5, eye.pitch + pitch));
  announce("frame");
}

/** Come closer (factor below 1) or stand back. */
export function zoom(factor) {
  const size = Math.max(...report.space.high.map((h, k) => h - report.space.low[k]));
  eye.distance = Math.max(0.02 * size, Math.min(200 * size, eye.distance * factor));
  announce("frame");
}

function move(dx, dy) {
  const up = report.space.up;
  const first = up[0] ? [0, 1, 0] : [1, 0, 0];
  const second = cross(up, first);
  const level = add(first.map((x) => x * Math.cos(eye.yaw)), second, Math.sin(eye.yaw));
  const right = cross(up, level);
  const top = add(up.map((x) => x * Math.cos(eye.pitch)), level, -Math.sin(eye.pitch));
  const scale = (eye.distance * 0.62) / ($("scene").clientHeight || 1);
  eye.target = add(add(eye.target, unit(right), -dx * scale), top, dy * scale);
  announce("frame");
}

/** Pointers and wheel on the 3D view; pick(x, y) names the track at a place. */
export function startOrbit(pick) {
  const canvas = $("scene");
  const held = new Map();
  let travelled = 0;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, [event.clientX, event.clientY]);
    travelled = 0;
    tip(event, "");
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) {
      const box = canvas.getBoundingClientRect();
      const k = pick(event.clientX - box.left, event.clientY - box.top);
      tip(event, k < 0 ? "" : `track ${report.tracks.names[k]}`);
      return;
    }
    const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
    travelled += Math.abs(dx) + Math.abs(dy);
    if (held.size === 2) {
      const other = [...held].find(([id]) => id !== event.pointerId)[1];
      const gap = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      zoom(gap(before) / Math.max(1, gap([event.clientX, event.clientY])));
      move(dx / 2, dy / 2);
    } else if (event.shiftKey || event.buttons & 6) move(dx, dy);
    else turn(-dx * 0.008, dy * 0.008);
    held.set(event.pointerId, [event.clientX, event.clientY]);
  });
  const release = (event) => {
    if (held.delete(event.pointerId) && travelled < 4 && event.type === "pointerup") {
      const box = canvas.getBoundingClientRect();
      const k = pick(event.clientX - box.left, event.clientY - box.top);
      change({ selected: k === state.selected ? -1 : k });
    }
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", (event) => tip(event, ""));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("dblclick", showAnimals);
  canvas.addEventListener("wheel", (event) => {
    // The page scrolls under the pointer until the view was clicked, or Ctrl is held (a pinch on a touchpad).
    if (document.activeElement !== canvas && !event.ctrlKey) return;
    event.preventDefault();
    zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * (event.ctrlKey ? 0.01 : 0.003)));
  }, { passive: false });
  $("fit").addEventListener("click", showAnimals);
  $("rig").addEventListener("click", showCameras);
}
