import { report, rowAfter } from "./decode.js";
import { announce, colour, css, isDark, on, state } from "./state.js";
import { $, sharp } from "./dom.js";
import { add, cross, dot, lookAt, multiply, norm, perspective, sub, toScreen, unit } from "./matrix.js";
import { POINT, buffer, painters, rgb } from "./lines.js";
import { boxPieces, cameraPieces, flatAxes, floor, floorPieces, frustums, middle, radius, up, water } from "./room.js";
import { drawCameraNames, drawNumbers, drawTicks, living } from "./labels.js";
import { drawSceneBodies } from "./skeletons.js";

const FIELD = 0.6; // of view, radians

/** Where the reader stands: turned about the up axis by yaw, raised by pitch, looking at target from a distance. */
export const eye = { yaw: 0, pitch: 0.45, distance: 1, target: middle };

// Axes of the horizon: with up, a right-handed frame.
const ahead = [0, 1, 2].map((k) => (k === flatAxes[0] ? 1 : 0));
const horizon = [ahead, cross(up, ahead)];

/** Show the animals from where the cameras stand, a little aside. */
export function showAnimals() {
  const mean = frustums.reduce((sum, f) => add(sum, unit(sub(f[0], middle)), 1 / frustums.length), [0, 0, 0]);
  const level = add(mean, up, -dot(mean, up));
  const from = norm(level) > 0.1 ? level : horizon[0];
  const aspect = ($("scene").clientWidth || 4) / ($("scene").clientHeight || 3);
  const distance = ((0.97 * radius) / Math.sin(FIELD / 2)) * Math.max(1, 1.15 / aspect);
  Object.assign(eye, { yaw: Math.atan2(dot(from, horizon[1]), dot(from, horizon[0])) + 0.5, pitch: 0.42, distance, target: middle });
  announce("frame");
}

/** Stand back until all cameras are in sight. */
export function showCameras() {
  const corners = frustums.flat();
  const centre = corners.reduce((sum, p) => add(sum, p, 1 / corners.length), [0, 0, 0]);
  const target = add(centre, middle).map((x) => x / 2);
  const reach = Math.max(radius, ...corners.map((p) => norm(sub(p, target))));
  Object.assign(eye, { target, pitch: 0.5, distance: (1.05 * reach) / Math.sin(FIELD / 2) });
  announce("frame");
}

const MOST_POINTS = 60000; // of whole paths: more are finer than a screen

/** Points of all tracks for the line painter, every step-th of each track. */
function linePoints(set, step = 1) {
  const values = new Float32Array(set.frame.length * POINT);
  const known = (i) => !Number.isNaN(set.xyz[3 * i] + set.xyz[3 * i + 1] + set.xyz[3 * i + 2]);
  let n = 0;
  for (let k = 0; k < set.size; k++) {
    for (let i = set.start[k]; i < set.start[k + 1]; i += step) {
      const joined = i + step < set.start[k + 1] && known(i) && known(i + step);
      const kind = set.state && step === 1 ? set.state[i] : 1;
      const place = known(i) ? 3 * i : -1;
      for (let a = 0; a < 3; a++) values[n + a] = place < 0 ? middle[a] : set.xyz[place + a];
      values[n + 3] = step === 1 ? set.frame[i] : Math.floor((i - set.start[k]) / step); // a step is no gap
      values[n + 4] = k;
      values[n + 5] = 2 * kind + (joined ? 1 : 0);
      n += POINT;
    }
  }
  return values.subarray(0, n);
}

/** The trails that end at the shown frame: a small buffer, filled anew for each picture. */
function trails(gl, set) {
  const points = linePoints(set);
  const source = gl.createBuffer();
  return () => {
    const parts = [];
    let count = 0;
    for (let k = 0; k < set.size; k++) {
      const [first, last] = [rowAfter(set, k, state.frame - state.trail), rowAfter(set, k, state.frame + 1)];
      if (last - first < 2) continue;
      parts.push(points.subarray(first * POINT, last * POINT));
      count += last - first;
    }
    const values = new Float32Array(count * POINT);
    let at = 0;
    for (const part of parts) {
      values.set(part, at);
      at += part.length;
      values[at - 1] -= values[at - 1] % 2; // the last point joins no other
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, source);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    return { source, count };
  };
}

function pieces(gl, list) {
  const values = list.flatMap(([a, b]) => [...a, 0, 0, 3, ...b, 0, 0, 2]);
  return { source: buffer(gl, values), count: list.length * 2 };
}

/** The 3D view. Returns what picks a track at a place on the screen, or null without WebGL2. */
export function startScene() {
  const canvas = $("scene");
  const gl = canvas.getContext("webgl2", { antialias: false, alpha: false });
  if (!gl) {
    $("nogl").hidden = false;
    return null;
  }
  let paint, box, ground, rig, paths, trackTrails, truthTrails, faces;
  function load() {
    paint = painters(gl);
    [box, ground, rig] = [boxPieces(), floorPieces(), cameraPieces()].map((list) => pieces(gl, list));
    const whole = linePoints(report.tracks, Math.ceil(report.tracks.frame.length / MOST_POINTS) || 1);
    paths = { source: buffer(gl, whole), count: whole.length / POINT };
    trackTrails = trails(gl, report.tracks);
    truthTrails = report.truth && trails(gl, report.truth);
    faces = water.map((polygon) => ({ source: buffer(gl, polygon.flat()), count: polygon.length }));
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthFunc(gl.LEQUAL);
    recolour();
  }
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => {
    load();
    announce("frame");
  });

  function recolour() {
    const rows = Math.max(1, Math.ceil(report.tracks.size / 256));
    const bytes = new Uint8Array(rows * 256 * 4);
    for (let k = 0; k < report.tracks.size; k++) {
      const chosen = state.selected < 0 || state.selected === k;
      bytes.set([...rgb(colour(k)).map((x) => 255 * x), chosen ? 255 : 45], 4 * k);
    }
    paint.colours(bytes, rows);
  }

  function look() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const [c, s] = [Math.cos(eye.pitch), Math.sin(eye.pitch)];
    const level = add(horizon[0].map((x) => x * Math.cos(eye.yaw)), horizon[1], Math.sin(eye.yaw));
    const from = add(add(eye.target, level, eye.distance * c), up, eye.distance * s);
    const far = eye.distance + norm(sub(eye.target, middle)) + 40 * radius;
    const view = multiply(perspective(FIELD, width / height, eye.distance * 0.02, far), lookAt(from, eye.target, up));
    const gap = norm(sub(from, middle));
    const focal = height / 2 / Math.tan(FIELD / 2);
    return { matrix: view, width, height, ratio, focal, near: Math.max(gap - radius, gap * 0.1), far: gap + radius };
  }

  function heads(scene) {
    const balls = [];
    const halos = [];
    const size = 0.016 * radius;
    const alive = living();
    alive.sort((a, b) => (a.k === state.selected) - (b.k === state.selected));
    for (const { k, row, place } of alive) {
      const alpha = state.selected < 0 || state.selected === k ? 1 : 0.2;
      const ink = rgb(colour(k));
      const guessed = report.tracks.state[row] === 3;
      balls.push(...place, ...ink, alpha, state.selected === k ? 1.5 * size : size, guessed ? 4 : 5, guessed ? 2 : 0);
      const sigma = report.tracks.sigma[row];
      if (2 * sigma > size) halos.push(...place, ...ink, 0.16 * alpha, 2 * sigma, 0, 1);
    }
    gl.depthMask(false);
    paint.discs(halos, scene, rgb(css("panel")));
    gl.depthMask(true);
    paint.discs(balls, scene, rgb(css("panel")));
  }

  let last = null;
  function draw() {
    if (!canvas.clientWidth || gl.isContextLost()) return;
    const scene = (last = look());
    const dark = isDark();
    gl.viewport(0, 0, scene.width, scene.height);
    gl.clearColor(...rgb(css("panel")), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const now = state.frame;
    const span = [now - state.trail, now];
    const shadow = { width: 2, span, fade: 0.8, ground: [...up.map(Math.abs), floor], tint: [...rgb(dark ? "#000000" : "#5a6672"), dark ? 0.75 : 0.4] };
    gl.disable(gl.DEPTH_TEST);
    for (const f of faces) paint.face(f.source, f.count, scene, [...rgb(css("water")), dark ? 0.13 : 0.1]);
    paint.lines(ground.source, ground.count, scene, { width: 1, tint: [...rgb(css("box")), 0.45] });
    paint.lines(box.source, box.count, scene, { width: 1.2, tint: [...rgb(css("box")), 0.9] });
    const recent = trackTrails();
    paint.lines(recent.source, recent.count, scene, shadow);
    paint.lines(rig.source, rig.count, scene, { width: 1.4, tint: [...rgb(css("muted")), 0.95] });
    if (state.paths) paint.lines(paths.source, paths.count, scene, { width: 1, tint: [0, 0, 0, dark ? -0.24 : -0.22] });
    if (truthTrails && state.truth) {
      const real = truthTrails();
      paint.lines(real.source, real.count, scene, { width: 1.2, span, fade: 0.6, tint: [...rgb(css("truth")), state.selected < 0 ? 0.9 : 0.35] });
    }
    if (state.selected < 0) gl.enable(gl.DEPTH_TEST); // else faint ones would hide the chosen one
    paint.lines(recent.source, recent.count, scene, { width: 3, span, fade: 0.75, tint: [0, 0, 0, -1] });
    heads(scene);
    relabel();
  }

  const relabel = sharp($("labels"), (context, width, height) => {
    if (!last) return;
    const at = (p) => toScreen(last.matrix, p, width, height);
    context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "middle";
    drawTicks(context, at);
    drawCameraNames(context, at, width, height);
    drawSceneBodies(context, at);
    drawNumbers(context, at);
  });

  load();
  on("look", recolour);
  on("frame", draw);
  new ResizeObserver(() => announce("frame")).observe(canvas);
  return (x, y) => {
    let best = -1;
    let least = 18;
    for (const { k, place } of last ? living() : []) {
      const s = toScreen(last.matrix, place, canvas.clientWidth, canvas.clientHeight);
      const gap = Math.hypot(s[0] - x, s[1] - y);
      if (s[2] > 0 && gap < least) [best, least] = [k, gap];
    }
    return best;
  };
}
