// Tracks over time, with suspects: a row a track, as many columns as the screen has.
import { ask } from "./api.js";
import { identity } from "./colours.js";
import { $, announce, css, go, inTurn, on, say, state } from "./state.js";

let shown = null;
let coming = null;

async function load() {
  const canvas = $("timeline");
  const bins = Math.max(50, Math.min(2000, Math.round(canvas.clientWidth - 60)));
  const [first, last] = state.meta.span;
  const key = `${state.version}/${bins}`;
  if (coming === key || shown?.key === key) return;
  coming = key;
  try {
    const found = await ask(`timeline?first=${first}&last=${last}&bins=${bins}`);
    if (coming !== key) return; // a newer one was asked for
    shown = { key, ...found };
    announce("timeline");
  } catch (error) {
    say(String(error.message), true);
  } finally {
    if (coming === key) coming = null;
  }
}

const LEFT = 44;
const TOP = 16;

function draw() {
  const canvas = $("timeline");
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const [w, h] = [canvas.clientWidth, canvas.clientHeight];
  if (!w || !h) return;
  Object.assign(canvas, { width: Math.round(w * ratio), height: Math.round(h * ratio) });
  const g = canvas.getContext("2d");
  g.scale(ratio, ratio);
  const [first, last] = state.meta.span;
  const x = (frame) => LEFT + ((frame - first) / (last + 1 - first)) * (w - LEFT - 6);
  for (const [k, s] of state.suspects.entries()) {
    const open = s.state === "open";
    g.fillStyle = k === state.suspect ? css("accent") : open ? css("alarm") : css("line");
    const at = x((s.first + s.last) / 2);
    g.beginPath();
    g.moveTo(at - 4, 2);
    g.lineTo(at + 4, 2);
    g.lineTo(at, 12);
    g.fill();
  }
  if (shown) {
    const { names, bins, share } = shown;
    const high = (h - TOP - 4) / Math.max(1, names.length);
    const wide = (w - LEFT - 6) / bins;
    const letters = parseFloat(getComputedStyle(document.body).fontSize);
    g.font = `${Math.min(0.86 * letters, Math.max(7, high - 1))}px system-ui, 'DejaVu Sans', sans-serif`;
    g.textBaseline = "middle";
    for (let k = 0; k < names.length; k++) {
      const lit = state.selected === null || names[k] === state.selected || names[k] === state.other;
      g.fillStyle = identity(names[k]);
      const y = TOP + k * high;
      let [begin, level] = [-1, "0"];
      for (let b = 0; b <= bins; b++) {
        const now = b < bins ? share[k * bins + b] : "0";
        if (now === level) continue;
        if (level !== "0") {
          g.globalAlpha = (lit ? 1 : 0.3) * (0.35 + (0.65 * parseInt(level, 16)) / 15);
          g.fillRect(LEFT + begin * wide, y + 0.1 * high, (b - begin) * wide, Math.max(1, 0.8 * high));
        }
        [begin, level] = [b, now];
      }
      g.globalAlpha = 1;
      if (high >= 8 || lit) {
        g.fillStyle = css(names[k] === state.selected ? "accent" : "muted");
        if (high >= 8 || state.selected !== null) g.fillText(String(names[k]), 4, y + high / 2);
      }
    }
    if (state.suspect >= 0) {
      const s = state.suspects[state.suspect];
      g.strokeStyle = css("ink");
      for (const t of new Set([s.track, s.other])) {
        const k = names.indexOf(t);
        if (k >= 0) g.strokeRect(x(s.first) - 1, TOP + k * high, Math.max(3, x(s.last + 1) - x(s.first) + 2), high);
      }
    }
  }
  g.strokeStyle = css("ink");
  g.beginPath();
  g.moveTo(x(state.frame + 0.5), 0);
  g.lineTo(x(state.frame + 0.5), h);
  g.stroke();
}

export function startTimeline() {
  const canvas = $("timeline");
  const at = (event) => {
    const [first, last] = state.meta.span;
    const wanted = first + ((event.offsetX - LEFT) / (canvas.clientWidth - LEFT - 6)) * (last + 1 - first) - 0.5;
    inTurn(() => go(wanted));
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (shown?.names.length && event.offsetY > TOP) {
      const k = Math.floor(((event.offsetY - TOP) / (canvas.clientHeight - TOP - 4)) * shown.names.length);
      const name = shown.names[Math.min(shown.names.length - 1, k)];
      inTurn(() => {
        if (event.shiftKey) state.other = name;
        else if (event.offsetX < LEFT) state.selected = name;
        announce("edits", "frame");
      });
    }
    if (event.offsetX >= LEFT) at(event);
  });
  canvas.addEventListener("pointermove", (event) => event.buttons && event.offsetX >= LEFT && at(event));
  for (const kind of ["frame", "timeline", "suspects", "look", "edits"]) on(kind, draw);
  on("tracks", load);
  new ResizeObserver(() => {
    load();
    announce("timeline");
  }).observe(canvas);
  state.trackNames = () => shown?.names ?? [];
}
