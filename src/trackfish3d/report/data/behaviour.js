import { decode, frameNumber, report } from "./decode.js";
import { change, colour, css, goTo, on, state } from "./state.js";
import { $, make, sharp, short, ticks, tip } from "./dom.js";
import { GUTTER, placeAt, playhead, timeAxis, timeX } from "./timeline.js";

const analysed = report.behaviour;
export const SMALL = "11px system-ui, 'DejaVu Sans', sans-serif";

/** What the analysis found, unpacked; null where there was none. Series are time by track. */
export const behaviour = analysed && {
  ...analysed,
  place: decode(analysed.place),
  speed: decode(analysed.speed),
  depth: decode(analysed.depth),
  observed: decode(analysed.observed),
  group: Object.fromEntries(Object.entries(analysed.group).map(([name, values]) => [name, decode(values)])),
  anomaly: {
    ...analysed.anomaly,
    middle: decode(analysed.anomaly.middle),
    span: decode(analysed.anomaly.span),
    probability: decode(analysed.anomaly.probability),
    p: decode(analysed.anomaly.p),
    t: decode(analysed.anomaly.t),
  },
  index: analysed.tracks.map((t) => report.tracks.names.indexOf(String(t))),
};

/** Unit of length on labels, with what stands before and after it. */
export function lengthUnit(after = "") {
  const name = report.units === "unit" ? "units" : report.units;
  return name + after;
}

/** Column of the series under a position of the whole axis. */
function columnAt(place) {
  const places = behaviour.place;
  let low = 0;
  let high = places.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle] < place) low = middle + 1;
    else high = middle;
  }
  return low > 0 && Math.abs(places[low - 1] - place) < Math.abs(places[low] - place) ? low - 1 : low;
}

function range(values, fromZero) {
  let low = fromZero ? 0 : Infinity;
  let high = -Infinity;
  for (const v of values) {
    if (Number.isNaN(v)) continue;
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  if (!(high > low)) return [Number.isFinite(low) ? low : 0, (Number.isFinite(low) ? low : 0) + 1];
  return [low, high];
}

/** A line through values at the columns' places; breaks where one is missing. */
function line(context, width, value, Y) {
  const places = behaviour.place;
  let drawing = false;
  let points = 0;
  context.beginPath();
  for (let c = 0; c < places.length; c++) {
    const v = value(c);
    if (Number.isNaN(v)) {
      drawing = false;
      continue;
    }
    const x = timeX(places[c], width);
    if (drawing) context.lineTo(x, Y(v));
    else context.moveTo(x, Y(v));
    if (!drawing && (c + 1 === places.length || Number.isNaN(value(c + 1)))) context.lineTo(x + 1.5, Y(v)); // a lone point
    drawing = true;
    points++;
  }
  if (points) context.stroke();
}

function axes(context, width, height, low, high, Y) {
  context.font = SMALL;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const t of ticks(low, high, 4)) {
    context.fillStyle = css("faint");
    context.fillRect(GUTTER, Math.round(Y(t)), width - GUTTER - 10, 1);
    context.fillStyle = css("muted");
    context.fillText(short(t), GUTTER - 6, Math.min(Math.max(Y(t), 7), height - 7));
  }
}

/** A plot over time: title, canvas, pointer. draw(context, width, Y) and text(column) are the caller's. */
function plot(chart, { id, title, label, low, high, height = 110, down = false, draw, text }) {
  const canvas = make("canvas", { id });
  canvas.style.height = height + "px";
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  chart.append(make("p", { className: "legend", textContent: title }), canvas);
  const Y = (v) => {
    const share = (v - low) / (high - low);
    return 6 + (down ? share : 1 - share) * (height - 12);
  };
  const redraw = sharp(canvas, (context, width) => {
    axes(context, width, height, low, high, Y);
    draw(context, width, Y);
  });
  on("look", redraw);
  canvas.addEventListener("pointerdown", (event) => goTo(placeAt(event, canvas)));
  canvas.addEventListener("pointermove", (event) => {
    const place = placeAt(event, canvas);
    if (event.buttons & 1) goTo(place);
    tip(event, `frame ${frameNumber(place)} · ${text(columnAt(place))}`);
  });
  canvas.addEventListener("pointerleave", (event) => tip(event, ""));
}

/** One line a track, in its colour; the chosen one stands out. */
function trackPlot(chart, id, title, values, what, down) {
  const K = behaviour.tracks.length;
  const [low, high] = range(values, !down);
  const draw = (context, width, Y) => {
    const chosen = behaviour.index.indexOf(state.selected);
    for (let pass = 0; pass < 2; pass++) {
      for (let k = 0; k < K; k++) {
        if ((k === chosen) !== (pass === 1)) continue;
        context.strokeStyle = colour(Math.max(behaviour.index[k], 0));
        context.globalAlpha = chosen >= 0 && k !== chosen ? 0.18 : 0.85;
        context.lineWidth = k === chosen ? 2.2 : 1.1;
        line(context, width, (c) => values[c * K + k], Y);
      }
    }
    context.globalAlpha = 1;
  };
  const text = (c) => {
    const chosen = behaviour.index.indexOf(state.selected);
    if (chosen >= 0) return `track ${behaviour.tracks[chosen]}: ${short(values[c * K + chosen])} ${what}`;
    const here = Array.from(values.subarray(c * K, (c + 1) * K)).filter((v) => !Number.isNaN(v));
    const mean = here.reduce((sum, v) => sum + v, 0) / here.length;
    return `mean of ${here.length}: ${short(mean)} ${what}`;
  };
  plot(chart, { id, title, label: `${title}, ${K} tracks`, low, high, down, draw, text });
}

/** Two measures of the group, the second broken. */
function groupPlot(chart, id, title, names, words, top, what) {
  const series = names.map((name) => behaviour.group[name]);
  const high = top || range([...series[0], ...series[1]], true)[1];
  const draw = (context, width, Y) => {
    series.forEach((values, i) => {
      context.strokeStyle = i ? css("ink") : css("accent");
      context.setLineDash(i ? [5, 3] : []);
      context.lineWidth = 1.6;
      line(context, width, (c) => values[c], Y);
    });
    context.setLineDash([]);
  };
  const text = (c) => words.map((word, i) => `${word} ${short(series[i][c])}${what}`).join(", ");
  plot(chart, { id, title, label: title, low: 0, high, height: 84, draw, text });
}

/** Strength of evidence against health, 0 to 1, of a p-value's logarithm. */
function strength(logP) {
  return Number.isNaN(logP) ? 0 : Math.min(1, Math.max(0, -logP / 4));
}

/** Words for the measures in which a track is far from the others in a window, the strongest first. */
function evidence(row) {
  const { measures, t } = behaviour.anomaly;
  const M = measures.length;
  return measures
    .map((m, i) => [t[row * M + i], m])
    .filter(([v]) => Math.abs(v) >= 2)
    .sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]))
    .map(([v, m]) => `${v < 0 ? m.low : m.high} (${v > 0 ? "+" : "−"}${Math.abs(v).toFixed(1)})`)
    .join(", ");
}

/** A row a track: the stronger, the less likely a healthy animal; a mark above where it is flagged. */
function anomalyPlot(chart) {
  const { middle, p, probability, rate, span, window, whole } = behaviour.anomaly;
  const K = behaviour.tracks.length;
  const W = middle.length;
  const rowHeight = Math.max(8, Math.min(20, Math.floor(320 / Math.max(K, 1))));
  const height = K * rowHeight;
  const canvas = make("canvas", { id: "anomalies" });
  canvas.style.height = height + "px";
  canvas.setAttribute("role", "img");
  const flagged = behaviour.tracks.filter((_, k) => whole[k].abnormal);
  canvas.setAttribute("aria-label", `Evidence of abnormal behaviour of ${K} tracks over time; abnormal on the whole: ${flagged.join(", ") || "none"}`);
  const text = `Unlike the others in windows of ${short(window)} s: the stronger, the less likely healthy; marked where flagged at a false-alarm rate of ${short(100 * rate)} %. Bold: abnormal on the whole.`;
  chart.append(make("p", { className: "legend", textContent: text }), canvas);
  // A verdict stands at the middle of its window; the first and the last one reach to the ends of theirs.
  const edge = (w, side, width) => {
    const other = w + side;
    if (other < 0 || other >= W) return timeX(span[side < 0 ? 0 : 1] + side * 0.5, width);
    return timeX((middle[w] + middle[other]) / 2, width);
  };
  const redraw = sharp(canvas, (context, width) => {
    for (let k = 0; k < K; k++) {
      context.fillStyle = css("faint");
      context.fillRect(GUTTER, (k + 0.5) * rowHeight, width - GUTTER - 10, 1);
      for (let w = 0; w < W; w++) {
        const logP = p[w * K + k];
        if (Number.isNaN(logP)) continue;
        const left = edge(w, -1, width);
        const wide = Math.max(1, edge(w, 1, width) - left);
        context.fillStyle = css("alarm");
        context.globalAlpha = 0.04 + 0.96 * strength(logP);
        context.fillRect(left, k * rowHeight + 3, wide + 0.4, rowHeight - 4);
        context.globalAlpha = 1;
        if (logP <= Math.log10(rate)) {
          context.fillStyle = css("ink");
          context.fillRect(left, k * rowHeight + 1, wide + 0.4, 2);
        }
      }
      context.fillStyle = state.selected >= 0 && behaviour.index[k] === state.selected ? css("ink") : css("muted");
      context.font = `${whole[k].abnormal ? "bold " : ""}${Math.min(12, rowHeight - 1)}px system-ui, 'DejaVu Sans', sans-serif`;
      context.textAlign = "right";
      context.textBaseline = "middle";
      if (whole[k].abnormal) context.fillStyle = css("alarm");
      context.fillText(behaviour.tracks[k], GUTTER - 8, (k + 0.5) * rowHeight, GUTTER - 12);
    }
  });
  on("look", redraw);
  const at = (event) => {
    const k = Math.floor((event.clientY - canvas.getBoundingClientRect().top) / rowHeight);
    const place = placeAt(event, canvas);
    let best = 0;
    for (let w = 1; w < W; w++) if (Math.abs(middle[w] - place) < Math.abs(middle[best] - place)) best = w;
    return { k: Math.max(0, Math.min(K - 1, k)), w: best, place };
  };
  canvas.addEventListener("pointerdown", (event) => {
    const { k, place } = at(event);
    change({ selected: behaviour.index[k] });
    goTo(place);
  });
  canvas.addEventListener("pointermove", (event) => {
    const { k, w } = at(event);
    const row = w * K + k;
    const known = !Number.isNaN(p[row]);
    const alarm = known && p[row] <= Math.log10(rate);
    const like = alarm ? `abnormal with probability ${short(probability[row])} · ${evidence(row)}` : `not flagged${evidence(row) && " · " + evidence(row)}`;
    const words = known ? like : "cannot be judged";
    tip(event, `track ${behaviour.tracks[k]} · ${words}`);
  });
  canvas.addEventListener("pointerleave", (event) => tip(event, ""));
}

/** Everything of behaviour that runs over time. */
export function startBehaviour() {
  if (!behaviour || !behaviour.tracks.length) return;
  $("behaviour").hidden = false;
  const chart = $("behaviourtime");
  trackPlot(chart, "speeds", `Speed, ${lengthUnit("/s")}`, behaviour.speed, lengthUnit("/s"), false);
  trackPlot(chart, "depths", `Depth, ${lengthUnit()}`, behaviour.depth, lengthUnit(), true);
  groupPlot(chart, "order", "Polarisation (line) and milling (broken)", ["polarisation", "milling"], ["polarisation", "milling"], 1, "");
  const title = `Nearest neighbour (line) and spread of the group (broken), ${lengthUnit()}`;
  groupPlot(chart, "cohesion", title, ["nearest_neighbour", "spread"], ["nearest neighbour", "spread"], 0, " " + lengthUnit());
  if (behaviour.anomaly.middle.length && behaviour.anomaly.p.some((v) => !Number.isNaN(v))) anomalyPlot(chart);
  timeAxis(chart);
  playhead(chart);
}
