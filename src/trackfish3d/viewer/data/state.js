// What is shown, and who wants to hear of changes.
export const state = {
  meta: null, frame: 0, playing: false, speed: 1, loop: false, range: null, trail: 40, names: true, colour: "identity",
  selected: null, other: null, detection: null, curves: null, suspects: [], suspect: -1, version: "", edits: { active: [], undone: [] },
  clicking: null, pending: 0, parts: true,
};

const listeners = new Map();
let asked = new Set();

/** Hear of a kind of change: "frame" (what is drawn), "tracks" (other tracks), "look" (theme, colours), "suspects", "edits". */
export function on(kind, listener) {
  listeners.set(kind, [...(listeners.get(kind) ?? []), listener]);
}

/** Tell of changes; listeners hear of each kind once a picture. */
export function announce(...kinds) {
  if (!asked.size) requestAnimationFrame(tell);
  for (const kind of kinds) asked.add(kind);
}

function tell() {
  const kinds = asked;
  asked = new Set();
  for (const kind of kinds) for (const listener of listeners.get(kind) ?? []) listener();
}

let turn = Promise.resolve();

/** Do what was asked for after what was asked for before it is done and shown: nothing that is pressed meanwhile is lost. */
export function inTurn(act) {
  state.pending++;
  turn = turn.then(act).catch((error) => say(String(error.message), true)).finally(() => state.pending--);
  return turn;
}

export const $ = (id) => document.getElementById(id);
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const isDark = () => {
  const said = document.documentElement.dataset.theme;
  return said ? said === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

/** Go to a frame. */
export function go(frame) {
  const [first, last] = state.meta.span;
  const wanted = Math.min(last, Math.max(first, Math.round(frame)));
  if (wanted === state.frame) return;
  state.frame = wanted;
  announce("frame");
}

/** Say a line to the reader. */
export function say(text, wrong = false) {
  $("said").textContent = text;
  $("said").className = wrong ? "alarm" : "";
}
