import { frameNumber, report, seconds } from "./decode.js";
import { change, colour, css, goTo, on, position, state } from "./state.js";
import { $, make, sharp, short, ticks, tip } from "./dom.js";

export const GUTTER = 62; // left of all plots over time, so that they share one axis
const RIGHT = 10;

/** Place of a position of the whole axis on a plot, px. */
export function timeX(place, width) {
  return GUTTER + ((place + 0.5) / report.axis.count) * (width - GUTTER - RIGHT);
}

/** Position of the whole axis under a pointer. */
export function placeAt(event, element) {
  const box = element.getBoundingClientRect();
  const share = (event.clientX - box.left - GUTTER) / (box.width - GUTTER - RIGHT);
  return Math.max(0, Math.min(report.axis.count - 1, Math.floor(share * report.axis.count)));
}

/** A line at the shown time across a chart. */
export function playhead(chart) {
  const line = make("div", { className: "playhead" });
  chart.append(line);
  const move = () => (line.style.left = timeX(position(), chart.clientWidth) + "px");
  on("frame", move);
  new ResizeObserver(move).observe(chart);
}

/** Seconds under a chart; frames where nobody said how many a second there are. */
export function timeAxis(chart) {
  const canvas = make("canvas");
  canvas.style.height = "20px";
  canvas.setAttribute("aria-hidden", "true");
  chart.append(canvas);
  const redraw = sharp(canvas, (context, width) => {
    context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    context.fillStyle = css("muted");
    context.textAlign = "center";
    const last = report.axis.count - 1;
    const [begin, end] = report.fpsKnown ? [seconds(0), seconds(last)] : [frameNumber(0), frameNumber(last)];
    for (const t of ticks(begin, end, Math.max(2, width / 110))) {
      const x = timeX(last ? ((t - begin) / (end - begin)) * last : 0, width);
      context.fillRect(x, 0, 1, 4);
      context.fillText(report.fpsKnown ? `${short(t)} s` : `frame ${short(t)}`, Math.min(x, width - 18), 15);
    }
  });
  on("look", redraw);
}

/** Where one may click to go there in time. */
function clickable(canvas, rowAt, text) {
  const pick = (event) => [rowAt(event), placeAt(event, canvas)];
  canvas.addEventListener("pointerdown", (event) => {
    const [row, place] = pick(event);
    change({ selected: row.track });
    goTo(place);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [row, place] = pick(event);
    if (event.buttons & 1) goTo(place);
    tip(event, row.valid ? text(row, place) : "");
  });
  canvas.addEventListener("pointerleave", (event) => tip(event, ""));
}

function rowsChart(chart, count, label, paint, rowInfo) {
  const height = Math.max(5, Math.min(18, Math.floor(330 / Math.max(count, 1))));
  const canvas = make("canvas", { id: chart.id + "-rows" });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  canvas.style.height = Math.max(count, 1) * height + "px";
  const box = make("div", { className: "rows" }, canvas);
  box.tabIndex = count * height > 420 ? 0 : -1;
  chart.append(box);
  timeAxis(chart);
  playhead(chart);
  const redraw = sharp(canvas, (context, width) => paint(context, width, height));
  on("look", redraw);
  const rowAt = (event) => rowInfo(Math.floor((event.clientY - canvas.getBoundingClientRect().top) / height));
  return { canvas, rowAt };
}

function bounds(first, last, width) {
  const half = (0.5 / report.axis.count) * (width - GUTTER - RIGHT);
  const left = timeX(first, width) - half;
  return [left, Math.max(1, timeX(last, width) + half - left)];
}

function name(context, text, row, height, ink) {
  if (height < 8) return;
  context.font = `${Math.min(12, height - 2)}px system-ui, 'DejaVu Sans', sans-serif`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = ink;
  context.fillText(text, GUTTER - 8, (row + 0.5) * height, GUTTER - 10);
}

/** All tracks over time: full where several cameras saw them, half where one did, a thin line where interpolated. */
export function startTimeline() {
  const { runs, names, size } = report.tracks;
  legend();
  const chart = $("timeline");
  if (!size) {
    $("tracks").hidden = true;
    return;
  }
  const spans = Array.from({ length: size }, () => []);
  for (let i = 0; i < runs.length; i += 4) spans[runs[i]].push(runs.subarray(i + 1, i + 4));
  const order = spans.map((_, k) => k).sort((a, b) => spans[a][0][0] - spans[b][0][0] || a - b);
  const paint = (context, width, height) => {
    order.forEach((k, row) => {
      if (state.selected === k) {
        context.fillStyle = css("faint");
        context.fillRect(0, row * height, width, height);
      }
      name(context, names[k], row, height, state.selected === k ? css("ink") : css("muted"));
      context.fillStyle = colour(k);
      const dim = state.selected >= 0 && state.selected !== k;
      for (const [first, last, kind] of spans[k]) {
        const [x, w] = bounds(first, last, width);
        const part = [0, 0.72, 0.36, 0.12][kind];
        context.globalAlpha = dim ? 0.3 : 1;
        context.fillRect(x, (row + 0.5 - part / 2) * height, w, Math.max(1, part * height));
      }
      context.globalAlpha = 1;
    });
  };
  const info = (row) => ({ track: order[row] ?? -1, valid: row >= 0 && row < size });
  const label = `Timeline of ${size} tracks; click to go to a time and choose a track`;
  const { canvas, rowAt } = rowsChart(chart, size, label, paint, info);
  clickable(canvas, rowAt, ({ track }, place) => {
    const span = spans[track].find(([first, last]) => first <= place && place <= last);
    const kind = span ? ["", "observed", "seen by one camera", "interpolated"][span[2]] : "not there";
    return `track ${names[track]} · frame ${frameNumber(place)} · ${kind}`;
  });
}

function legend() {
  const parts = [["observed", 10], ["seen by one camera only", 5], ["interpolated", 1.5]];
  const space = "http://www.w3.org/2000/svg";
  for (const [text, height] of parts) {
    const svg = document.createElementNS(space, "svg");
    const bar = document.createElementNS(space, "rect");
    for (const [key, value] of Object.entries({ width: 26, height: 14, "aria-hidden": "true" })) svg.setAttribute(key, value);
    for (const [key, value] of Object.entries({ width: 26, height, y: 7 - height / 2, fill: "currentColor" })) bar.setAttribute(key, value);
    svg.append(bar);
    $("states").append(svg, text);
  }
  $("states").append("   · click to go there");
}

/** True animals over time, in the colour of the track that follows each. */
export function startAnimals() {
  if (!report.animals || !report.animals.names.length) return;
  $("animals").hidden = false;
  const { names, runs } = report.animals;
  const paint = (context, width, height) => {
    names.forEach((text, row) => {
      context.fillStyle = css("faint");
      context.fillRect(GUTTER, (row + 0.5) * height - 0.5, width - GUTTER - RIGHT, 1);
      name(context, text, row, height, css("muted"));
    });
    for (let i = 0; i < runs.length; i += 4) {
      const [row, first, last, whom] = runs.subarray(i, i + 4);
      if (!whom) continue;
      const [x, w] = bounds(first, last, width);
      context.globalAlpha = state.selected >= 0 && state.selected !== whom - 1 ? 0.25 : 1;
      context.fillStyle = colour(whom - 1);
      context.fillRect(x, (row + 0.14) * height, w, 0.72 * height);
      context.globalAlpha = 1;
      if (w > 46 && height >= 12) {
        context.fillStyle = css("panel");
        context.font = `bold ${Math.min(11, height - 4)}px system-ui, 'DejaVu Sans', sans-serif`;
        context.textAlign = "left";
        context.textBaseline = "middle";
        context.fillText(report.tracks.names[whom - 1], x + 5, (row + 0.52) * height, w - 8);
      }
    }
  };
  const whomAt = (row, place) => {
    for (let i = 0; i < runs.length; i += 4) {
      if (runs[i] === row && runs[i + 1] <= place && place <= runs[i + 2]) return runs[i + 3];
    }
    return -1;
  };
  const info = (row) => ({ track: -1, row, valid: row >= 0 && row < names.length });
  const label = `${names.length} true animals and the tracks that follow them over time`;
  const { canvas, rowAt } = rowsChart($("follow"), names.length, label, paint, info);
  clickable(canvas, rowAt, ({ row }, place) => {
    const whom = whomAt(row, place);
    const who = whom > 0 ? `track ${report.tracks.names[whom - 1]}` : whom === 0 ? "missed" : "not there";
    return `animal ${names[row]} · frame ${frameNumber(place)} · ${who}`;
  });
}
