import { decode, report } from "./decode.js";
import { change, colour, css, goTo, state } from "./state.js";
import { $, short, ticks, tip } from "./dom.js";
import { SMALL, behaviour, lengthUnit } from "./behaviour.js";
import { panel } from "./maps.js";

const EDGE = { left: 44, right: 10, top: 8, bottom: 34 };

/** A value with its standard deviation. */
function plusMinus(value, sigma, unit) {
  return `${short(value)} ± ${short(sigma)} ${unit}`;
}

function words(start) {
  const late = start.latency === null ? "" : ` · ${plusMinus(start.latency, start.sigma_onset, "s")} after the stimulus`;
  const turn = start.turn === null ? "" : ` · turns by ${plusMinus((start.turn * 180) / Math.PI, (start.sigma_turn * 180) / Math.PI, "°")}`;
  return `track ${start.track}, frame ${start.onset} · peak ${plusMinus(start.peak, start.sigma_peak, lengthUnit("/s"))}${turn}${late}`;
}

/** Speeds about the onset of every fast start, one line each in its track's colour. */
export function startFastStarts() {
  const starts = behaviour && behaviour.starts;
  if (!starts || !starts.each.length) return;
  const speeds = decode(starts.profile);
  const P = starts.profile.shape[1];
  const high = speeds.reduce((top, v) => (v > top ? v : top), 0) || 1;
  const index = starts.each.map((s) => report.tracks.names.indexOf(String(s.track)));
  const X = (frame, width) => EDGE.left + (frame / (P - 1)) * (width - EDGE.left - EDGE.right);
  const Y = (v, height) => height - EDGE.bottom - (v / high) * (height - EDGE.top - EDGE.bottom);
  const draw = (context, width, height) => {
    context.font = SMALL;
    context.fillStyle = css("muted");
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const t of ticks(0, high, 4)) context.fillText(short(t), EDGE.left - 5, Y(t, height));
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    const fps = starts.fps || report.fps;
    const seconds = [-starts.before / fps, (P - 1 - starts.before) / fps];
    for (const t of ticks(...seconds, 5)) context.fillText(short(t), X(t * fps + starts.before, width), height - 18);
    context.fillText("s after the onset", (EDGE.left + width) / 2, height - 4);
    context.fillRect(X(starts.before, width), EDGE.top, 1, height - EDGE.top - EDGE.bottom);
    starts.each.forEach((start, e) => {
      context.strokeStyle = colour(Math.max(index[e], 0));
      context.globalAlpha = state.selected >= 0 && index[e] !== state.selected ? 0.18 : 0.85;
      context.lineWidth = 1.4;
      context.beginPath();
      let drawing = false;
      for (let f = 0; f < P; f++) {
        const v = speeds[e * P + f];
        if (Number.isNaN(v)) drawing = false;
        else if (drawing) context.lineTo(X(f, width), Y(v, height));
        else {
          context.moveTo(X(f, width), Y(v, height));
          drawing = true;
        }
      }
      context.stroke();
    });
    context.globalAlpha = 1;
  };
  const text = `${starts.total} found, speed in ${lengthUnit("/s")}${starts.total > starts.each.length ? `; the first ${starts.each.length} are drawn` : ""}`;
  const canvas = panel($("behaviourcurves"), "fast starts", text, draw, 230);
  canvas.id = "faststarts";
  const nearest = (event) => {
    const area = canvas.getBoundingClientRect();
    const frame = Math.max(0, Math.min(P - 1, Math.round(((event.clientX - area.left - EDGE.left) / (area.width - EDGE.left - EDGE.right)) * (P - 1))));
    let best = 0;
    let least = Infinity;
    starts.each.forEach((_, e) => {
      const away = Math.abs(Y(speeds[e * P + frame], area.height) - (event.clientY - area.top));
      if (away < least) [best, least] = [e, away];
    });
    return best;
  };
  canvas.addEventListener("pointermove", (event) => tip(event, words(starts.each[nearest(event)])));
  canvas.addEventListener("pointerleave", (event) => tip(event, ""));
  canvas.addEventListener("pointerdown", (event) => {
    const start = starts.each[nearest(event)];
    const first = report.frameNumbers ? report.frameNumbers.indexOf(start.onset) : start.onset - report.axis.first;
    change({ selected: report.tracks.names.indexOf(String(start.track)) });
    if (first >= 0) goTo(first);
  });
}
