import { frameNumber, report, seconds, shownFrames } from "./decode.js";
import { announce, change, colour, isDark, on, position, state } from "./state.js";
import { $, make } from "./dom.js";
import { showAnimals, showCameras, startScene } from "./scene.js";
import { startOrbit, turn, zoom } from "./orbit.js";
import { describe, startViews } from "./views.js";
import { startAnimals, startTimeline } from "./timeline.js";
import { startCounts, startResiduals } from "./plots.js";
import { startBehaviour } from "./behaviour.js";
import { startBehaviourMaps } from "./maps.js";
import { startFastStarts } from "./starts.js";
import { startSuspects } from "./suspects.js";
import { startTables } from "./tables.js";

function startTransport() {
  $("time").max = shownFrames - 1;
  $("time").addEventListener("input", () => change({ frame: +$("time").value }));
  $("play").addEventListener("click", () => change({ playing: !state.playing }));
  $("speed").addEventListener("change", () => change({ speed: +$("speed").value }));
  const perSecond = report.fps / (report.axis.stride * report.axis.every);
  const lengths = [0.5, 1, 2, 5, 10, 30].filter((s) => s * perSecond >= 2 && s * perSecond < shownFrames);
  $("trail").append(make("option", { value: 0, textContent: "none" }));
  for (const s of lengths) $("trail").append(make("option", { value: Math.round(s * perSecond), textContent: report.fpsKnown ? `${s} s` : `${Math.round(s * report.fps)} frames` }));
  $("trail").append(make("option", { value: shownFrames, textContent: "all" }));
  state.trail = Math.round((lengths.includes(2) ? 2 : lengths[0] || 0) * perSecond) || shownFrames;
  $("trail").value = state.trail;
  $("trail").addEventListener("change", () => change({ trail: +$("trail").value }));
  $("paths").checked = state.paths;
  for (const key of ["paths", "truth", "bodies", "numbers"]) $(key).addEventListener("change", () => change({ [key]: $(key).checked }));
  $("truthbox").hidden = !report.truth;
  $("bodiesbox").hidden = !report.poses;
  on("frame", showTime);
}

function showTime() {
  $("time").value = state.frame;
  const number = frameNumber(position());
  const text = `${report.fpsKnown ? `${seconds(position()).toFixed(2)} s · ` : ""}frame ${number}`;
  $("clock").textContent = text;
  $("time").setAttribute("aria-valuetext", text);
  $("play").textContent = state.playing ? "❚❚" : "▶";
  $("play").setAttribute("aria-label", state.playing ? "Pause" : "Play");
  $("chosen").textContent = state.selected < 0 ? "" : describe(state.selected);
  $("chosen").style.color = state.selected < 0 ? "" : colour(state.selected);
}

/** Steps in time while playing: by the clock, so that slow machines leave out frames instead of slowing time. */
function startPlaying() {
  let before = 0;
  let owed = 0;
  const step = (now) => {
    if (!state.playing) return;
    owed += (Math.min(now - before, 250) / 1000) * (report.fps / (report.axis.stride * report.axis.every)) * state.speed;
    before = now;
    const frames = Math.floor(owed);
    owed -= frames;
    if (frames) {
      if (state.frame >= shownFrames - 1) change({ playing: false });
      else change({ frame: state.frame + frames });
    }
    requestAnimationFrame(step);
  };
  let running = false;
  on("look", () => {
    if (state.playing && !running) {
      if (state.frame >= shownFrames - 1) change({ frame: 0 });
      before = performance.now();
      requestAnimationFrame(step);
    }
    running = state.playing;
  });
}

function choose(by) {
  const count = report.tracks.size;
  if (!count) return;
  const next = state.selected < 0 ? (by > 0 ? 0 : count - 1) : state.selected + by;
  change({ selected: next < 0 || next >= count ? -1 : next });
}

function swapTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  announce("look");
}

function toggleHelp() {
  $("keys").hidden = !$("keys").hidden;
  $("help").setAttribute("aria-expanded", String(!$("keys").hidden));
}

function startKeys() {
  const keys = {
    " ": () => change({ playing: !state.playing }),
    ArrowLeft: (e) => change({ frame: state.frame - (e.shiftKey ? 10 : 1) }),
    ArrowRight: (e) => change({ frame: state.frame + (e.shiftKey ? 10 : 1) }),
    ArrowUp: () => choose(-1),
    ArrowDown: () => choose(1),
    Home: () => change({ frame: 0 }),
    End: () => change({ frame: shownFrames - 1 }),
    Escape: () => change({ selected: -1 }),
    a: () => turn(-0.1, 0),
    d: () => turn(0.1, 0),
    w: () => turn(0, 0.1),
    s: () => turn(0, -0.1),
    "+": () => zoom(0.85),
    "=": () => zoom(0.85),
    "-": () => zoom(1.18),
    f: showAnimals,
    c: showCameras,
    l: swapTheme,
    "?": toggleHelp,
  };
  document.addEventListener("keydown", (event) => {
    const act = keys[event.key] || keys[event.key.toLowerCase()];
    const inControl = event.target.closest("select, summary, .scroll") || (event.key === " " && event.target.closest("button, input[type=checkbox]"));
    if (!act || inControl || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(event);
  });
  $("theme").addEventListener("click", swapTheme);
  $("help").addEventListener("click", toggleHelp);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => announce("look"));
}

startTables();
startSuspects();
startTransport();
startViews();
startTimeline();
startAnimals();
startResiduals();
startCounts();
startBehaviour();
startBehaviourMaps();
startFastStarts();
const pick = startScene();
startOrbit(pick || (() => -1));
startPlaying();
startKeys();
const frames = report.axis.count;
$("scene").setAttribute("aria-label", `3D trajectories of ${report.tracks.size} tracks over ${frames} frames; drag to turn, W A S D to turn by keys`);
showAnimals();
change({ frame: Math.min(shownFrames - 1, state.trail) });
announce("look");
document.documentElement.dataset.ready = "yes";
