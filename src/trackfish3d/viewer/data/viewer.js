// The page: opens the recording, plays it, and listens to keys.
import { ask } from "./api.js";
import { detections, poses, tracks } from "./chunks.js";
import { scale } from "./colours.js";
import { startCompare } from "./compare.js";
import { actions, next, startMending } from "./mending.js";
import { startScene } from "./scene3d.js";
import { $, announce, go, inTurn, isDark, on, say, state } from "./state.js";
import { startTimeline } from "./timeline.js";
import { aim, enlarge, nudge, startViews } from "./views.js";

const KEYS = [
  ["Space", "play, pause"], ["← →", "one frame; with Shift ten"], ["Home End", "first, last frame"], ["+ −", "faster, slower"],
  ["N B", "next, previous suspect"], ["L", "loop about the suspect"], ["↓ ↑", "pick the next, previous track"], ["O", "second track: the nearest, then farther ones"],
  ["S", "swap both from here on"], ["Shift S", "swap both in the suspect's frames"], ["J", "join the second to the first"], ["X", "cut here"],
  ["D", "delete the track"], ["E", "rename"], ["P", "draw a point: click in two views, or 1 … 9 and arrows (Shift: one pixel); P again"], ["G", "fill the gap"],
  ["A", "accept the suspect as right"], ["V", "solve the suspect's stretch again"], ["Z Y", "undo, redo"], ["C", "colour by identity, speed, confidence, depth"],
  ["1 … 9, 0", "enlarge a view, all views"], ["F", "see all animals in 3D"], ["T", "light, dark"], ["Esc", "pick nothing"],
];

function showKeys() {
  const panel = $("keys");
  for (const [key, text] of KEYS) {
    const [a, b] = [document.createElement("span"), document.createElement("span")];
    for (const k of key.split(" ")) {
      const mark = document.createElement("kbd");
      mark.textContent = k;
      a.append(mark, " ");
    }
    b.textContent = text;
    panel.append(a, b);
  }
}

function help() {
  $("keys").hidden = !$("keys").hidden;
  $("help").setAttribute("aria-expanded", String(!$("keys").hidden));
}

function theme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  announce("look", "frame", "suspects");
}

function colour(name) {
  const kinds = ["identity", "speed", "confidence", "depth"];
  state.colour = name ?? kinds[(kinds.indexOf(state.colour) + 1) % kinds.length];
  $("colour").value = state.colour;
  const legend = $("ramp");
  legend.hidden = state.colour === "identity";
  if (!legend.hidden) {
    const s = scale();
    const bar = document.createElement("i");
    legend.replaceChildren(`${state.colour} ${s.low}`, bar, `${Number(s.high.toPrecision(3))} ${s.unit} ${s.note}`);
  }
  announce("look", "frame");
}

let begun = 0;
let from = 0;
let waited = 0;
function play(on_ = !state.playing) {
  state.playing = on_;
  $("play").textContent = on_ ? "❚❚" : "▶";
  $("play").setAttribute("aria-label", on_ ? "Pause" : "Play");
  [begun, from] = [performance.now(), state.frame];
  if (on_) requestAnimationFrame(tick);
}

function tick(now) {
  if (!state.playing) return;
  // A picture that is on its way is waited for: what is shown is always of one moment. An edit is waited for too: it is
  // about the moment at which its key was pressed.
  if (state.pending || (!state.ready() && now - waited < 1500)) {
    [begun, from] = [now, state.frame];
    return requestAnimationFrame(tick);
  }
  waited = now;
  let wanted = from + Math.floor(((now - begun) / 1000) * state.meta.fps * state.speed);
  const [first, last] = state.loop && state.range ? [state.range.first, state.range.last] : state.meta.span;
  if (wanted > last || (state.loop && wanted < first)) {
    if (!state.loop) return play(false);
    wanted = first;
    [begun, from] = [now, first];
  }
  go(wanted);
  requestAnimationFrame(tick);
}

function loop(on_ = !state.loop) {
  state.loop = on_;
  $("loop").checked = on_;
  if (on_ && !state.playing) play(true);
}

function pickNext(step) {
  const names = state.trackNames();
  if (!names.length) return;
  const at = names.indexOf(state.selected);
  state.selected = names[(at + step + names.length + (at < 0 && step < 0 ? 1 : 0)) % names.length];
  state.detection = state.curves = null;
  announce("frame", "edits");
}

function nothing() {
  Object.assign(state, { selected: null, other: null, detection: null, curves: null, clicking: null, suspect: -1, range: null });
  $("keys").hidden = true;
  enlarge(null);
  announce("frame", "edits", "suspects");
}

function faster(step) {
  const select = $("speed");
  select.selectedIndex = Math.min(select.options.length - 1, Math.max(0, select.selectedIndex + step));
  select.onchange();
}

/** Keys of how it looks and plays act at once, all others one after the other. */
const AT_ONCE = new Set([" ", "l", "c", "f", "t", "?", "+", "-", "=", "0"]);

const pressed = {
  " ": () => play(), ArrowLeft: (e) => step(e.shiftKey ? -10 : -1), ArrowRight: (e) => step(e.shiftKey ? 10 : 1),
  Home: () => go(state.meta.span[0]), End: () => go(state.meta.span[1]), ArrowDown: () => pickNext(1), ArrowUp: () => pickNext(-1),
  n: () => next(1), b: () => next(-1), l: () => loop(), o: actions.other, s: (e) => (e.shiftKey ? actions.swapRange() : actions.swap()),
  j: actions.join, x: actions.cut, d: actions.remove, e: actions.rename, p: actions.point, g: actions.fill, a: actions.accept, v: actions.solve,
  z: actions.undo, y: actions.redo, c: () => colour(), f: () => $("fit").onclick?.(), t: theme, "?": help, Escape: nothing,
  "+": () => faster(1), "-": () => faster(-1), "=": () => faster(1), 0: () => enlarge(null),
};

function step(frames) {
  play(false);
  go(state.frame + frames);
}

const AIMED = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** What a key does to the cross of a point that is being drawn; nothing for other keys. */
function aimed(key, event) {
  if (/^[1-9]$/.test(key)) return () => aim(Number(key) - 1);
  const way = AIMED[key];
  const far = event.shiftKey ? 1 : 10;
  return way && (() => nudge(way[0] * far, way[1] * far));
}

function keys(event) {
  const undo = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
  if (event.target.matches?.("input[type=text], select") || ((event.ctrlKey || event.metaKey || event.altKey) && !undo)) return;
  if (event.target.matches?.("button, a, input[type=checkbox]") && (event.key === " " || event.key === "Enter")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const act = undo && event.shiftKey ? actions.redo : /^[1-9]$/.test(key) ? () => enlarge(Number(key) - 1) : pressed[key];
  if (!act) return;
  event.preventDefault();
  if (/^(Arrow|[1-9]$)/.test(key)) return inTurn(() => ((state.clicking && aimed(key, event)) || act)(event));
  if (AT_ONCE.has(key)) act(event);
  else inTurn(() => act(event));
}

async function open() {
  state.meta = await ask("meta");
  const { meta } = state;
  [state.version, state.frame] = [meta.version, meta.span[0]];
  document.title = `${meta.name} – TrackFish3D`;
  $("title").textContent = meta.name;
  $("facts").textContent = `${meta.span[1] - meta.span[0] + 1} frames, ${meta.cameras.length} cameras`;
  if (new URLSearchParams(location.search).has("rec")) $("home").hidden = false;
  if (meta.problems.length) say(`Something is wrong: ${meta.problems.join(" ")}`, true);
  if (!meta.tracked) say("not tracked yet: run 'trackfish3d track'", true);
  const time = $("time");
  [time.min, time.max, time.value] = [meta.span[0], meta.span[1], state.frame];
  time.oninput = () => {
    const frame = Number(time.value);
    inTurn(() => go(frame));
  };
  $("play").onclick = () => play();
  $("speed").onchange = () => {
    state.speed = Number($("speed").value);
    [begun, from] = [performance.now(), state.frame];
  };
  $("trail").onchange = () => {
    state.trail = Number($("trail").value);
    announce("frame");
  };
  $("names").onchange = () => {
    state.names = $("names").checked;
    announce("frame");
  };
  $("partslabel").hidden = !meta.skeleton && !meta.partsSeen;
  $("parts").onchange = () => {
    state.parts = $("parts").checked;
    announce("frame");
  };
  $("loop").onchange = () => loop($("loop").checked);
  $("colour").onchange = () => colour($("colour").value);
  $("theme").onclick = theme;
  $("help").onclick = help;
  showKeys();
  on("frame", () => {
    const { frame } = state;
    time.value = frame;
    const seconds = meta.fpsKnown ? ` · ${((frame - meta.span[0]) / meta.fps).toFixed(2)} s` : "";
    $("clock").textContent = `frame ${frame}${seconds}`;
    tracks.ahead(frame);
    detections.ahead(frame);
    if (meta.skeleton) poses.ahead(frame);
  });
  const pick = startScene();
  const scene = $("scene");
  let down = null;
  scene.addEventListener("pointerdown", (e) => (down = [e.offsetX, e.offsetY]));
  scene.addEventListener("pointerup", (e) => {
    if (!down || Math.hypot(e.offsetX - down[0], e.offsetY - down[1]) > 4) return;
    const found = pick(e.offsetX, e.offsetY);
    inTurn(() => {
      if (e.shiftKey) state.other = found;
      else Object.assign(state, { selected: found, detection: null, curves: null });
      announce("frame", "edits");
    });
  });
  startViews();
  startTimeline();
  startCompare();
  document.addEventListener("keydown", keys);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => announce("look", "frame"));
  announce("look", "frame");
  await startMending();
  document.documentElement.dataset.ready = "yes";
}

globalThis.trackfish = state; // for the tests, and for the curious
open().catch((error) => say(String(error.message), true));
