import { report, rowAt } from "./decode.js";
import { announce, colour, css, isDark, on, state } from "./state.js";
import { $, sharp, short, ticks } from "./dom.js";
import { add, cross, dot, lookAt, multiply, norm, perspective, sub, toScreen, unit } from "./matrix.js";
import { POINT, buffer, painters, rgb } from "./lines.js";

const FIELD = 0.6; // of view, radians

const { low, high, up, frustums, water } = report.space;
const middle = add(low, high).map((x) => x / 2);
const radius = norm(sub(high, low)) / 2;
const upAxis = up.findIndex((x) => Math.abs(x) > 0.5);
const flatAxes = [0, 1, 2].filter((k) => k !== upAxis);
const floor = up[upAxis] > 0 ? low[upAxis] : high[upAxis];

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
  const distance = ((0.93 * radius) / Math.sin(FIELD / 2)) * Math.max(1, 1.15 / aspect);
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

function tracksBuffer(gl, set) {
  const count = set.frame.length;
  const values = new Float32Array(count * POINT);
  const known = (i) => !Number.isNaN(set.xyz[3 * i] + set.xyz[3 * i + 1] + set.xyz[3 * i + 2]);
  for (let k = 0; k < set.size; k++) {
    for (let i = set.start[k]; i < set.start[k + 1]; i++) {
      const joined = i + 1 < set.start[k + 1] && known(i) && known(i + 1);
      const place = known(i) ? set.xyz.subarray(3 * i, 3 * i + 3) : middle;
      values.set([...place, set.frame[i], k, 2 * (set.state ? set.state[i] : 1) + (joined ? 1 : 0)], i * POINT);
    }
  }
  return { source: buffer(gl, values), count };
}

function pieces(gl, list) {
  const values = list.flatMap(([a, b]) => [...a, 0, 0, 3, ...b, 0, 0, 2]);
  return { source: buffer(gl, values), count: list.length * 2 };
}

const corner = (bits) => [0, 1, 2].map((k) => ((bits >> k) & 1 ? high[k] : low[k]));
const grid = flatAxes.map((k) => ticks(low[k], high[k], 6));
const upTicks = ticks(low[upAxis], high[upAxis], 5);

function boxPieces() {
  const list = [];
  for (let k = 0; k < 3; k++) for (let a = 0; a < 8; a++) if (!((a >> k) & 1)) list.push([corner(a), corner(a | (1 << k))]);
  return list;
}

function floorPieces() {
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

function cameraPieces() {
  return frustums.flatMap((f) => [1, 2, 3, 4].flatMap((i) => [[f[0], f[i]], [f[i], f[(i % 4) + 1]]]));
}

/** The 3D view. Returns what picks a track at a place on the screen, or null without WebGL2. */
export function startScene() {
  const canvas = $("scene");
  const gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
  if (!gl) {
    $("nogl").hidden = false;
    return null;
  }
  let paint, box, ground, rig, tracks, truth, faces;
  function load() {
    paint = painters(gl);
    [box, ground, rig] = [boxPieces(), floorPieces(), cameraPieces()].map((list) => pieces(gl, list));
    tracks = tracksBuffer(gl, report.tracks);
    truth = report.truth && tracksBuffer(gl, report.truth);
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
    for (let k = 0; k < report.tracks.size; k++) {
      const row = rowAt(report.tracks, k, state.frame);
      if (row < 0 || Number.isNaN(report.tracks.xyz[3 * row])) continue;
      const place = report.tracks.xyz.subarray(3 * row, 3 * row + 3);
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
    paint.lines(tracks.source, tracks.count, scene, shadow);
    paint.lines(rig.source, rig.count, scene, { width: 1.4, tint: [...rgb(css("muted")), 0.95] });
    if (state.paths) paint.lines(tracks.source, tracks.count, scene, { width: 1, tint: [0, 0, 0, dark ? -0.24 : -0.22] });
    if (truth && state.truth) {
      paint.lines(truth.source, truth.count, scene, { width: 1.2, span, fade: 0.6, tint: [...rgb(css("truth")), state.selected < 0 ? 0.9 : 0.35] });
    }
    gl.enable(gl.DEPTH_TEST);
    paint.lines(tracks.source, tracks.count, scene, { width: 3, span, fade: 0.75, tint: [0, 0, 0, -1] });
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
    drawNumbers(context, at);
  });

  function drawTicks(context, at) {
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

  function drawCameraNames(context, at, width, height) {
    context.fillStyle = css("ink");
    context.textAlign = "center";
    frustums.forEach((f, i) => {
      const s = at(f[0]);
      if (s[2] > 0 && s[0] > 0 && s[0] < width && s[1] > 0 && s[1] < height) context.fillText(report.cameras[i].name, s[0], s[1] - 10);
    });
  }

  function drawNumbers(context, at) {
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

/** Tracks that have a known place in the shown frame. */
function living() {
  const out = [];
  for (let k = 0; k < report.tracks.size; k++) {
    const row = rowAt(report.tracks, k, state.frame);
    if (row >= 0 && !Number.isNaN(report.tracks.xyz[3 * row])) out.push({ k, place: report.tracks.xyz.subarray(3 * row, 3 * row + 3) });
  }
  return out;
}
