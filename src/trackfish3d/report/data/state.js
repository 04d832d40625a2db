import { report, shownFrames } from "./decode.js";

// What the reader has chosen, and who wants to know. "frame" fires on every step in time, "look" on all else.
export const state = {
  frame: 0,
  playing: false,
  speed: 1,
  trail: Math.max(2, Math.min(shownFrames, Math.round((2 * report.fps) / (report.axis.stride * report.axis.every)))),
  selected: -1,
  paths: report.tracks.frame.length < 30000, // more cover all else
  truth: true,
  bodies: true,
  numbers: true,
};

const listeners = { frame: [], look: [] };
let pending = null;

/** Call f after changes of a kind ("frame" or "look"), at most once per picture of the screen. */
export function on(kind, f) {
  listeners[kind].push(f);
}

/** Change what is shown. */
export function change(values) {
  if ("frame" in values) values.frame = Math.max(0, Math.min(shownFrames - 1, Math.round(values.frame)));
  let kind = null;
  for (const [key, value] of Object.entries(values)) {
    if (state[key] === value) continue;
    state[key] = value;
    kind = key === "frame" && kind !== "look" ? "frame" : "look";
  }
  if (kind) announce(kind);
}

/** Ask for everything (kind "look") or what depends on time ("frame") to be drawn anew. */
export function announce(kind) {
  if (pending) {
    if (kind === "look") pending = "look";
    return;
  }
  pending = kind;
  requestAnimationFrame(() => {
    const all = pending === "look";
    pending = null;
    if (all) theme = null;
    if (all) for (const f of listeners.look) f();
    for (const f of listeners.frame) f();
  });
}

/** Position of the shown frame on the whole axis. */
export function position() {
  return Math.min(state.frame * report.axis.stride, report.axis.count - 1);
}

/** Show the frame at a position of the whole axis. */
export function goTo(place) {
  change({ frame: Math.round(place / report.axis.stride) });
}

const style = getComputedStyle(document.documentElement);
let theme = null; // colours are asked for thousands of times a picture, and change only with the page's look

function themeNow() {
  if (!theme) {
    const chosen = document.documentElement.dataset.theme;
    const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    theme = { dark, palette: report.palettes[dark ? "dark" : "light"], css: new Map() };
  }
  return theme;
}

/** A colour of the style sheet, by name. */
export function css(name) {
  const known = themeNow().css;
  if (!known.has(name)) known.set(name, style.getPropertyValue("--" + name).trim());
  return known.get(name);
}

/** Whether the page is dark now. */
export function isDark() {
  return themeNow().dark;
}

/** Colour of track k. */
export function colour(k) {
  const { palette } = themeNow();
  return palette[k % palette.length];
}
