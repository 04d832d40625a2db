import { decode, frameNumber, report } from "./decode.js";
import { css, goTo, on } from "./state.js";
import { $, make, sharp, short, ticks, tip } from "./dom.js";
import { GUTTER, placeAt, playhead, timeAxis, timeX } from "./timeline.js";

/** Detections of each camera over time, and the number of tracks as a thin line across. */
export function startCounts() {
  if (!report.detections.total) {
    $("counts").hidden = true;
    return;
  }
  $("counttext").textContent = `Filled: detections of each camera. Line: tracks. ${report.detections.total} detections in all.`;
  const { columns, cameras, tracks } = report.counts;
  const top = Math.max(1, ...cameras, ...tracks);
  const chart = $("countpanels");
  report.cameras.forEach((camera, k) => {
    const values = cameras.subarray(k * columns, (k + 1) * columns);
    const canvas = make("canvas");
    canvas.style.height = Math.max(34, Math.min(90, 180 / report.cameras.length)) + "px";
    canvas.setAttribute("role", "img");
    const mean = values.reduce((sum, v) => sum + v, 0) / columns;
    canvas.setAttribute("aria-label", `Detections of camera ${camera.name} over time, ${short(mean)} a frame on average`);
    chart.append(canvas);
    const redraw = sharp(canvas, (context, width, height) => drawCounts(context, width, height, camera.name, values, tracks, top));
    on("look", redraw);
    const place = (event) => placeAt(event, canvas);
    canvas.addEventListener("pointerdown", (event) => goTo(place(event)));
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) goTo(place(event));
      const at = Math.floor((place(event) * columns) / report.axis.count);
      tip(event, `${camera.name} · frame ${frameNumber(place(event))} · ${short(values[at])} detections, ${short(tracks[at])} tracks`);
    });
    canvas.addEventListener("pointerleave", (event) => tip(event, ""));
  });
  timeAxis(chart);
  playhead(chart);
}

function drawCounts(context, width, height, name, values, tracks, top) {
  const columns = values.length;
  const X = (i) => timeX((i / columns) * report.axis.count - 0.5, width);
  const Y = (v) => height - 3 - (v / top) * (height - 8);
  context.fillStyle = css("faint");
  context.fillRect(GUTTER, Y(0), width - GUTTER - 10, 1);
  context.fillStyle = css("accent");
  context.globalAlpha = 0.45;
  context.beginPath();
  context.moveTo(X(0), Y(0));
  for (let i = 0; i < columns; i++) {
    context.lineTo(X(i), Y(values[i]));
    context.lineTo(X(i + 1), Y(values[i]));
  }
  context.lineTo(X(columns), Y(0));
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = css("ink");
  context.lineWidth = 1.2;
  context.beginPath();
  for (let i = 0; i < columns; i++) {
    context.lineTo(X(i), Y(tracks[i]));
    context.lineTo(X(i + 1), Y(tracks[i]));
  }
  context.stroke();
  context.fillStyle = css("ink");
  context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillText(name, 0, height / 2, GUTTER - 22);
  context.fillStyle = css("muted");
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.textAlign = "right";
  context.fillText(short(top), GUTTER - 5, Math.max(8, Y(top) + 3));
  context.fillText("0", GUTTER - 5, Y(0) - 4);
}

/** Residuals of each camera: how long (histogram) and whereto (cloud). */
export function startResiduals() {
  const used = report.residuals.filter((p) => p.count);
  if (!used.length) {
    $("residuals").hidden = true;
    return;
  }
  $("residualtext").textContent = "Detection minus reprojected track, px. Left: length. Right: direction; a cloud off the cross is a calibration error.";
  $("residualnote").textContent = report.residualNote;
  const most = Math.max(...used.map((p) => Math.max(...p.histogram) / p.count));
  report.residuals.forEach((panel, k) => {
    const canvas = make("canvas");
    const name = report.cameras[k].name;
    const text = panel.count
      ? `median ${short(panel.median)} · 90 % ${short(panel.p90)} · 95 % ${short(panel.p95)} px`
      : "no detection used";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Reprojection residuals of camera ${name}: ${text}`);
    $("residualpanels").append(make("figure", {}, make("figcaption", {}, name + " ", make("span", { textContent: text })), canvas));
    if (!panel.count) {
      canvas.hidden = true;
      return;
    }
    const cloud = decode(panel.cloud);
    const redraw = sharp(canvas, (context, width, height) => {
      drawHistogram(context, width - height - 6, height, panel, most);
      drawCloud(context, width - height + 6, height - 22, panel, cloud);
    });
    on("look", redraw);
  });
}

function drawHistogram(context, width, height, panel, most) {
  const base = height - 20;
  const bins = panel.histogram.length;
  const X = (px) => (Math.min(px, panel.scale) / panel.scale) * width;
  context.fillStyle = css("accent");
  context.globalAlpha = 0.55;
  panel.histogram.forEach((count, i) => {
    const h = (count / panel.count / most) * (base - 16);
    context.fillRect((i / bins) * width, base - h, width / bins - 0.6, h);
  });
  context.globalAlpha = 1;
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.fillStyle = css("ink");
  context.textAlign = "left";
  for (const [value, name] of [[panel.median, "50 %"], [panel.p95, "95 %"]]) {
    context.fillRect(X(value), 14, 1.2, base - 14);
    const near = X(value) > width - 34;
    context.textAlign = near ? "right" : "left";
    context.fillText(name, X(value) + (near ? -4 : 4), name === "95 %" && X(panel.p95) - X(panel.median) < 34 ? 36 : 22);
  }
  context.fillStyle = css("muted");
  context.fillRect(0, base, width, 1);
  for (const t of ticks(0, panel.scale, 5)) {
    context.textAlign = t === 0 ? "left" : X(t) > width - 8 ? "right" : "center";
    context.fillText(short(t), X(t), height - 6);
  }
}

function drawCloud(context, left, size, panel, cloud) {
  const cells = Math.round(Math.sqrt(cloud.length));
  const cell = size / cells;
  context.fillStyle = css("faint");
  context.fillRect(left, 0, size, size);
  context.fillStyle = css("accent");
  cloud.forEach((value, i) => {
    if (!value) return;
    context.globalAlpha = 0.12 + (0.88 * value) / 255;
    context.fillRect(left + (i % cells) * cell, Math.floor(i / cells) * cell, cell + 0.3, cell + 0.3);
  });
  context.globalAlpha = 1;
  context.fillStyle = css("ink");
  context.fillRect(left, size / 2 - 0.5, size, 1);
  context.fillRect(left + size / 2 - 0.5, 0, 1, size);
  context.beginPath();
  const at = (px) => ((px / panel.scale + 1) / 2) * size;
  context.arc(left + at(panel.bias[0]), at(panel.bias[1]), 3.5, 0, 2 * Math.PI);
  context.lineWidth = 2;
  context.strokeStyle = css("panel");
  context.stroke();
  context.fill();
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.fillStyle = css("muted");
  context.textAlign = "center";
  context.fillText(`±${short(panel.scale)} px`, left + size / 2, size + 15);
}
