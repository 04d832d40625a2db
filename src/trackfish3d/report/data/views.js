import { report, rowAfter, rowAt, frameNumber } from "./decode.js";
import { change, colour, css, on, position, state } from "./state.js";
import { $, make, sharp, short, tip } from "./dom.js";
import { drawViewBodies } from "./skeletons.js";

const cameras = report.cameras.length;

/** One canvas for each camera: detections, reprojected tracks with their trails, truth, and a picture if there is one. */
export function startViews() {
  const views = report.cameras.map((camera, index) => makeView(camera, index));
  $("views").append(...views.map((v) => v.figure));
  const arrange = () => {
    share();
    place(views);
  };
  new ResizeObserver(arrange).observe($("stage"));
  arrange();
  on("frame", () => views.forEach((v) => v.redraw()));
}

/** The grid that shows all views largest in a room. */
function bestGrid(width, height) {
  const aspect = Math.max(...report.cameras.map((c) => c.size[0] / c.size[1]));
  let best = { size: 0 };
  for (let columns = 1; columns <= cameras; columns++) {
    const rows = Math.ceil(cameras / columns);
    const w = Math.min((width - 8 * (columns - 1)) / columns, ((height - 8 * (rows - 1)) / rows) * aspect);
    if (w > best.size) best = { size: w, columns, rows };
  }
  return best;
}

/** Give the views the room they can fill, at most 45 % of the stage, and the 3D view the rest. */
function share() {
  const stage = $("stage");
  if (innerWidth <= 900) {
    stage.style.gridTemplateColumns = "";
    return;
  }
  const { size, columns } = bestGrid(stage.clientWidth * 0.45, stage.clientHeight);
  if (columns) stage.style.gridTemplateColumns = `minmax(0, 1fr) ${Math.ceil(columns * (size + 8) - 8)}px`;
}

function place(views) {
  const [width, height] = [$("views").clientWidth, $("views").clientHeight];
  const best = bestGrid(width, height);
  if (!best.columns) return;
  const cell = [(width + 8) / best.columns, (height + 8) / best.rows];
  views.forEach(({ figure }, i) => {
    const [cw, ch] = report.cameras[i].size;
    const scale = Math.min((cell[0] - 8) / cw, (cell[1] - 8) / ch);
    const [column, row] = [i % best.columns, Math.floor(i / best.columns)];
    figure.style.width = Math.max(40, cw * scale) + "px";
    figure.style.height = Math.max(30, ch * scale) + "px";
    figure.style.left = column * cell[0] + (cell[0] - 8 - cw * scale) / 2 + "px";
    figure.style.top = row * cell[1] + (best.rows === 1 ? 0 : (cell[1] - 8 - ch * scale) / 2) + "px";
  });
}

function makeView(camera, index) {
  const caption = make("span");
  const canvas = make("canvas", { tabIndex: 0 });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `View of camera ${camera.name}: detections and reprojected tracks`);
  const figure = make("figure", {}, canvas, make("figcaption", {}, camera.name + " ", caption));
  const pictures = camera.pictures.map(({ frame, jpeg }) => {
    const image = new Image();
    image.src = "data:image/jpeg;base64," + jpeg;
    image.decode().then(() => view.redraw(), () => {});
    return { frame, image };
  });
  const view = { figure, canvas, camera, index, pictures, caption, zoom: 1, x: camera.size[0] / 2, y: camera.size[1] / 2 };
  view.redraw = sharp(canvas, (context, width, height) => draw(view, context, width, height));
  watch(view);
  return view;
}

/** From pixels of the image to those of the canvas. */
function mapping(view, width, height) {
  const scale = (width / view.camera.size[0]) * view.zoom;
  return { scale, left: width / 2 - view.x * scale, top: height / 2 - view.y * scale };
}

function draw(view, context, width, height) {
  const m = mapping(view, width, height);
  const X = (u) => m.left + m.scale * u;
  const Y = (v) => m.top + m.scale * v;
  drawPicture(view, context, m);
  context.strokeStyle = css("line");
  context.lineWidth = 1;
  context.strokeRect(X(0), Y(0), view.camera.size[0] * m.scale, view.camera.size[1] * m.scale);
  drawTrails(view, context, X, Y);
  const seen = drawDetections(view, context, X, Y);
  if (report.truth && state.truth) drawTruth(view, context, X, Y);
  drawViewBodies(context, view.index, X, Y);
  drawTracks(view, context, X, Y);
  const text = report.detections.total ? `${seen} detection${seen === 1 ? "" : "s"}` : "";
  view.caption.textContent = view.behind === undefined ? text : `${text} · picture of frame ${view.behind}`;
}

function drawPicture(view, context, m) {
  view.behind = undefined;
  const now = frameNumber(position());
  let best = null;
  for (const p of view.pictures) if (!best || Math.abs(p.frame - now) < Math.abs(best.frame - now)) best = p;
  if (!best || !best.image.complete || !best.image.naturalWidth) return;
  view.behind = best.frame;
  context.globalAlpha = best.frame === now ? 1 : 0.5;
  context.drawImage(best.image, m.left, m.top, view.camera.size[0] * m.scale, view.camera.size[1] * m.scale);
  context.globalAlpha = 1;
}

const pixel = (set, row, index) => [set.pixels[2 * (row * cameras + index)], set.pixels[2 * (row * cameras + index) + 1]];
const dimmed = (k) => state.selected >= 0 && state.selected !== k;

function drawTrails(view, context, X, Y) {
  const set = report.tracks;
  context.lineWidth = 1.6;
  context.lineJoin = "round";
  for (let k = 0; k < set.size; k++) {
    let row = rowAfter(set, k, state.frame - state.trail);
    context.strokeStyle = colour(k);
    context.globalAlpha = dimmed(k) ? 0.22 : 0.65;
    context.beginPath();
    for (let open = false; row < set.start[k + 1] && set.frame[row] <= state.frame; row++) {
      const [u, v] = pixel(set, row, view.index);
      if (Number.isNaN(u + v)) open = false;
      else if (open) context.lineTo(X(u), Y(v));
      else {
        context.moveTo(X(u), Y(v));
        open = true;
      }
    }
    context.stroke();
  }
  context.globalAlpha = 1;
}

function drawDetections(view, context, X, Y) {
  const { start, camera, owner, pixels } = report.detections;
  let seen = 0;
  for (let i = start[state.frame]; i < start[state.frame + 1]; i++) {
    if (camera[i] !== view.index) continue;
    seen++;
    const [u, v, x1, y1, x2, y2] = pixels.subarray(6 * i, 6 * i + 6);
    const k = owner[i] - 1;
    context.globalAlpha = k >= 0 && dimmed(k) ? 0.3 : k < 0 && state.selected >= 0 ? 0.35 : 0.95;
    context.strokeStyle = context.fillStyle = k < 0 ? css("muted") : colour(k);
    context.lineWidth = 1.2;
    context.setLineDash(k < 0 ? [3, 3] : []);
    if (x2 > x1 && y2 > y1) context.strokeRect(X(x1), Y(y1), X(x2) - X(x1), Y(y2) - Y(y1));
    context.fillRect(X(u) - 1.5, Y(v) - 1.5, 3, 3);
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
  return seen;
}

function drawTruth(view, context, X, Y) {
  context.strokeStyle = css("truth");
  context.lineWidth = 1.2;
  context.globalAlpha = state.selected < 0 ? 1 : 0.35;
  for (let k = 0; k < report.truth.size; k++) {
    const row = rowAt(report.truth, k, state.frame);
    if (row < 0) continue;
    const [u, v] = pixel(report.truth, row, view.index);
    if (Number.isNaN(u + v)) continue;
    context.beginPath();
    context.moveTo(X(u) - 6, Y(v));
    context.lineTo(X(u) + 6, Y(v));
    context.moveTo(X(u), Y(v) - 6);
    context.lineTo(X(u), Y(v) + 6);
    context.stroke();
  }
  context.globalAlpha = 1;
}

function drawTracks(view, context, X, Y) {
  const set = report.tracks;
  const alive = [];
  for (let k = 0; k < set.size; k++) {
    const row = rowAt(set, k, state.frame);
    if (row >= 0) alive.push([k, row]);
  }
  context.font = "bold 11px system-ui, 'DejaVu Sans', sans-serif";
  for (const [k, row] of alive) {
    const [u, v] = pixel(set, row, view.index);
    if (Number.isNaN(u + v)) continue;
    context.globalAlpha = dimmed(k) ? 0.4 : 1;
    context.beginPath();
    context.arc(X(u), Y(v), state.selected === k ? 6 : 4, 0, 2 * Math.PI);
    context.lineWidth = 3.4;
    context.strokeStyle = css("view");
    context.stroke();
    context.lineWidth = 1.8;
    context.strokeStyle = colour(k);
    context.setLineDash(set.state[row] === 3 ? [2, 2] : []);
    context.stroke();
    context.setLineDash([]);
    if (!state.numbers || (state.selected >= 0 ? state.selected !== k : alive.length > 60)) continue;
    context.lineWidth = 3;
    context.strokeStyle = css("view");
    context.strokeText(set.names[k], X(u) + 7, Y(v) - 6);
    context.fillStyle = colour(k);
    context.fillText(set.names[k], X(u) + 7, Y(v) - 6);
  }
  context.globalAlpha = 1;
}

/** Zoom, move and choose with the pointer. */
function watch(view) {
  const { canvas, camera } = view;
  let held = null;
  let travelled = 0;
  const nearest = (event) => {
    const box = canvas.getBoundingClientRect();
    const m = mapping(view, box.width, box.height);
    let best = -1;
    let least = 14;
    for (let k = 0; k < report.tracks.size; k++) {
      const row = rowAt(report.tracks, k, state.frame);
      if (row < 0) continue;
      const [u, v] = pixel(report.tracks, row, view.index);
      const gap = Math.hypot(m.left + m.scale * u - event.clientX + box.left, m.top + m.scale * v - event.clientY + box.top);
      if (gap < least) [best, least] = [k, gap];
    }
    return best;
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held = [event.clientX, event.clientY];
    travelled = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) {
      const k = nearest(event);
      tip(event, k < 0 ? "" : describe(k));
      return;
    }
    const scale = (canvas.clientWidth / camera.size[0]) * view.zoom;
    view.x -= (event.clientX - held[0]) / scale;
    view.y -= (event.clientY - held[1]) / scale;
    travelled += Math.abs(event.clientX - held[0]) + Math.abs(event.clientY - held[1]);
    held = [event.clientX, event.clientY];
    keepInside(view);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (held && travelled < 4) {
      const k = nearest(event);
      change({ selected: k === state.selected ? -1 : k });
    }
    held = null;
  });
  canvas.addEventListener("pointerleave", (event) => tip(event, ""));
  canvas.addEventListener("dblclick", () => {
    view.zoom = 1;
    keepInside(view);
  });
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return;
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    const m = mapping(view, box.width, box.height);
    const [u, v] = [(event.clientX - box.left - m.left) / m.scale, (event.clientY - box.top - m.top) / m.scale];
    const before = view.zoom;
    view.zoom = Math.max(1, Math.min(40, view.zoom * Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) * 0.004)));
    view.x = u + ((view.x - u) * before) / view.zoom;
    view.y = v + ((view.y - v) * before) / view.zoom;
    keepInside(view);
  }, { passive: false });
}

function keepInside(view) {
  const half = view.camera.size.map((s) => s / 2 / view.zoom);
  view.x = Math.max(half[0], Math.min(view.camera.size[0] - half[0], view.x));
  view.y = Math.max(half[1], Math.min(view.camera.size[1] - half[1], view.y));
  view.redraw();
}

/** What is known of track k in the shown frame. */
export function describe(k) {
  const set = report.tracks;
  const row = rowAt(set, k, state.frame);
  const lines = [`track ${set.names[k]}`];
  if (row < 0) return lines[0] + " · not here now";
  lines.push(["", "observed", "seen by one camera", "interpolated"][set.state[row]]);
  if (set.views[row]) lines.push(`${set.views[row]} view${set.views[row] > 1 ? "s" : ""}`);
  if (!Number.isNaN(set.error[row])) lines.push(`${short(set.error[row])} px`);
  if (!Number.isNaN(set.sigma[row])) lines.push(`± ${short(set.sigma[row])} ${report.units === "unit" ? "" : report.units}`);
  if (!Number.isNaN(set.confidence[row])) lines.push(`identity ${Math.round(100 * set.confidence[row])} %`);
  return lines.join(" · ");
}
