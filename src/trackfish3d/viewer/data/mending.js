// Mending: what is picked, what can be done with it, suspects, edits, and other windows.
import { ask, tell } from "./api.js";
import { find, tracks } from "./chunks.js";
import { nearest } from "./compare.js";
import { $, announce, go, inTurn, on, say, state } from "./state.js";

const AROUND = 15; // frames of the clip before and after a moment

/** Everything that depends on the tracks, anew. */
export async function refresh() {
  const edits = await ask("edits"); // first: suspects are then never older than the version that the page says it shows
  const suspects = await ask("suspects");
  const was = state.suspects[state.suspect];
  Object.assign(state, { edits, suspects, version: edits.version, suspect: was ? suspects.findIndex((s) => s.id === was.id) : -1 });
  announce("tracks", "suspects", "edits", "frame");
}

async function send(what, content) {
  let [done, line] = [true, ""];
  try {
    line = (await tell(what, content)).said;
  } catch (error) {
    [done, line] = [false, String(error.message)];
  }
  await refresh();
  say(line, !done);
  return done;
}

const edit = (kind, content = {}) => send("edit", { kind, seen: kind === "undo" || kind === "redo" ? "" : state.version, ...content });
const open = () => (state.suspect >= 0 ? state.suspects[state.suspect] : null);

function needed(two) {
  if (state.selected === null) return say("pick a track first: click it, or press ↓", true);
  if (two && state.other === null) return say("pick a second track: click it with Shift, or press O", true);
  return true;
}

export const actions = {
  swap: () => needed(true) && edit("swap", { track: state.selected, other: state.other, first: state.frame }),
  swapRange: () => {
    const s = open();
    if (!needed(true)) return;
    if (!s) return say("choose a suspect first: its frames are the range", true);
    return edit("swap", { track: state.selected, other: state.other, first: s.first, last: s.last });
  },
  join: () => needed(true) && edit("join", { track: state.selected, other: state.other }),
  cut: () => needed() && edit("cut", { track: state.selected, frame: state.frame }),
  remove: () => needed() && edit("delete", { track: state.selected }),
  fill: async () => {
    if (!needed()) return;
    await tracks.need(state.frame);
    return edit("fill", { track: state.selected, ...(find(state.selected, state.frame) ? {} : { frame: state.frame }) });
  },
  rename: () => {
    if (!needed()) return;
    const said = prompt(`New number of track ${state.selected}`);
    if (said === null) return;
    if (!/^\d{1,9}$/.test(said.trim())) return say("a number of a track is a whole number", true);
    return edit("rename", { track: state.selected, new: Number(said) });
  },
  point: async () => {
    if (!state.clicking) {
      if (!needed()) return;
      state.clicking = { track: state.selected, frame: state.frame, pixels: {} };
      say(`click track ${state.selected} in two views, or press their numbers and move the cross by arrows; then P again; Esc leaves it`);
    } else {
      const { track, frame, pixels } = state.clicking;
      state.clicking = null;
      await edit("point", { track, frame, pixels });
    }
    announce("edits", "frame");
  },
  accept: async () => {
    const s = open();
    if (!s) return say("choose a suspect first (N)", true);
    if (await edit("accept", { track: s.track, other: s.other, first: s.first, last: s.last, what: s.kind })) await next(1);
  },
  undo: () => edit("undo"),
  redo: () => edit("redo"),
  solve: async () => {
    const s = open();
    const [first, last] = s ? [s.first, s.last] : [state.frame, state.frame];
    const before = new Set(state.edits.active.map((e) => e.id));
    say("solving again …");
    if (!(await send("solve", { first, last }))) return;
    state.changed = new Set(state.edits.active.map((e) => e.id).filter((id) => !before.has(id)));
    const change = state.edits.active.find((e) => state.changed.has(e.id));
    if (change) lookAt(change);
    announce("edits");
  },
  other: async () => {
    await tracks.need(state.frame);
    const here = tracks.at(state.frame);
    const mine = state.selected === null ? null : find(state.selected, state.frame);
    if (!mine) return say("pick a track that is there first: click it, or press ↓", true);
    const near = [];
    const k = state.frame - here.first;
    for (let i = here.start[k]; i < here.start[k + 1]; i++) {
      if (here.track[i] === state.selected) continue;
      near.push([Math.hypot(here.x[i] - here.x[mine.row], here.y[i] - here.y[mine.row], here.z[i] - here.z[mine.row]), here.track[i]]);
    }
    near.sort((a, b) => a[0] - b[0]);
    const at = near.findIndex(([, t]) => t === state.other);
    state.other = near.length ? near[(at + 1) % near.length][1] : null;
    announce("frame", "edits");
  },
};

/** Choose a suspect: its tracks are picked, and time stands where they are nearest. */
export async function choose(k) {
  if (!state.suspects[k]) return;
  state.suspect = k;
  const s = state.suspects[k];
  state.selected = s.track;
  state.other = s.other === s.track ? null : s.other;
  state.detection = state.curves = null;
  await Promise.all([s.first - AROUND, s.last + AROUND].map((f) => tracks.need(f)));
  const at = nearest(s);
  state.range = { first: s.first - AROUND, last: s.last + AROUND, at };
  go(at);
  announce("suspects", "edits", "frame");
}

/** The next open suspect, or the one before. */
export function next(step) {
  const open = state.suspects.map((s, k) => [s, k]).filter(([s]) => s.state === "open").map(([, k]) => k);
  if (!open.length) return say("no suspect is left to look at");
  const later = step > 0 ? open.find((k) => k > state.suspect) : open.findLast((k) => k < state.suspect || state.suspect < 0);
  return choose(later ?? (step > 0 ? open[0] : open.at(-1)));
}

/** Go to where an edit was made, and pick what it was about. */
function lookAt(e) {
  [state.selected, state.other] = [e.tracks[0] ?? null, e.tracks[1] ?? null];
  state.detection = state.curves = null;
  if (e.at !== null) go(e.at);
  announce("frame", "edits");
}

const BUTTONS = [
  ["swap", "Swap from here", "S"], ["swapRange", "Swap in the moment", "Shift S"], ["join", "Join", "J"], ["cut", "Cut here", "X"],
  ["remove", "Delete", "D"], ["rename", "Rename", "E"], ["point", "Draw point", "P"], ["fill", "Fill gap", "G"],
  ["accept", "Accept", "A"], ["solve", "Solve again", "V"],
];

function drawActions() {
  const two = state.other === null ? "" : ` and ${state.other}`;
  const views = state.clicking ? `; shown in ${Object.keys(state.clicking.pixels).length} views` : "";
  $("chosen").textContent = state.selected === null ? "Nothing picked" : `Track ${state.selected}${two}${views}`;
  $("undo").disabled = !state.edits.active.length;
  $("redo").disabled = !state.edits.undone.length;
  $("editcount").textContent = state.edits.active.length || "";
  const list = $("editlist");
  list.replaceChildren(
    ...state.edits.active.toReversed().map((e) => {
      const solved = state.changed?.has(e.id);
      const item = line(e.held ? (solved ? "solved" : "") : "done", `${solved ? "solved: " : ""}${e.text}: ${e.frames} frames${e.held ? "" : " (of older tracks)"}`);
      item.onclick = () => inTurn(() => lookAt(e));
      return item;
    }),
    ...state.edits.undone.toReversed().map((e) => line("done", `undone: ${e.text}`)),
  );
}

function line(kind, text) {
  const item = document.createElement("li");
  item.className = kind;
  item.textContent = text;
  return item;
}

function drawSuspects() {
  const left = state.suspects.filter((s) => s.state === "open").length;
  $("left").textContent = state.suspects.length ? `${left} of ${state.suspects.length} left · N next, B before` : "none";
  const list = $("suspectlist");
  list.replaceChildren(
    ...state.suspects.map((s, k) => {
      const item = document.createElement("li");
      if (s.state !== "open") item.className = "done";
      item.setAttribute("aria-current", String(k === state.suspect));
      const what = document.createElement("span");
      what.className = "what";
      const who = s.track === s.other ? `${s.track}` : `${s.track}, ${s.other}`;
      what.textContent = `${s.kind} ${who} · ${s.first}${s.last > s.first ? `–${s.last}` : ""}`;
      const chance = document.createElement("span");
      chance.className = "chance";
      chance.textContent = s.state === "open" ? `${(100 * s.probability).toFixed(s.probability < 0.095 ? 1 : 0)} %` : s.state;
      item.append(what, chance);
      item.onclick = () => inTurn(() => choose(state.suspects.findIndex((now) => now.id === s.id)));
      return item;
    }),
  );
  list.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest" });
}

/** Hear of edits that other windows or programs make. */
async function listen() {
  for (;;) {
    try {
      const { version } = await ask(`changes?since=${encodeURIComponent(state.version)}`);
      await inTurn(() => version !== state.version && refresh());
    } catch {
      say("the server does not answer; start 'trackfish3d view' again", true);
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

export async function startMending() {
  for (const [name, text, key] of BUTTONS) {
    const button = document.createElement("button");
    button.type = "button";
    button.id = `do-${name}`;
    const mark = document.createElement("kbd");
    mark.textContent = key;
    button.append(`${text} `, mark);
    button.onclick = () => inTurn(actions[name]);
    $("buttons").append(button);
  }
  $("undo").onclick = () => inTurn(actions.undo);
  $("redo").onclick = () => inTurn(actions.redo);
  on("edits", drawActions);
  on("suspects", drawSuspects);
  await refresh();
  listen();
}
