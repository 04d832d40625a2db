import { report } from "./decode.js";
import { change, colour, goTo } from "./state.js";
import { $, make, sharp } from "./dom.js";

const PACE = 180; // ms a picture

/** A clip that runs in a loop, with the tracks in question marked: boxes, places, numbers. */
function film({ camera, pictures, frames, marks }) {
  const canvas = make("canvas", { role: "img", ariaLabel: `camera ${camera} about this moment` });
  const images = pictures.map((p) => make("img", { src: `data:image/jpeg;base64,${p}` }));
  let at = 0;
  const redraw = sharp(canvas, (g, w, h) => {
    if (!images[at].complete) return;
    g.drawImage(images[at], 0, 0, w, h);
    g.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    for (const { track, at: [u, v], box } of marks[at]) {
      g.strokeStyle = g.fillStyle = colour(report.tracks.names.indexOf(String(track)));
      g.lineWidth = 2;
      if (box) g.strokeRect(box[0] * w, box[1] * h, (box[2] - box[0]) * w, (box[3] - box[1]) * h);
      g.beginPath();
      g.arc(u * w, v * h, 3, 0, 7);
      g.fill();
      write(g, String(track), Math.min(u * w + 6, w - 20), Math.max(v * h - 6, 12));
    }
    write(g, String(frames[at]), 5, h - 6);
  });
  images[0].decode().then(() => {
    canvas.style.aspectRatio = `${images[0].naturalWidth} / ${images[0].naturalHeight}`;
    redraw();
  });
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
    setInterval(() => {
      at = (at + 1) % pictures.length;
      redraw();
    }, PACE);
  }
  return canvas;
}

function write(g, text, x, y) {
  g.lineWidth = 3;
  g.strokeStyle = "#000000";
  g.strokeText(text, x, y);
  g.fillStyle = "#ffffff";
  g.fillText(text, x, y);
}

/** Moments at which identities may be wrong: each row jumps to its own. */
export function startSuspects() {
  const { suspects } = report;
  if (!suspects.length) return;
  $("suspects").hidden = false;
  const left = suspects.filter((s) => s.state === "open").length;
  $("suspecttext").textContent = `${left} of ${suspects.length} are left to look at; 'trackfish3d view' shows both ways to go on, and mends them.`;
  const jump = (s) => {
    goTo(s.place);
    change({ selected: report.tracks.names.indexOf(String(s.track)) });
    $("stage").scrollIntoView({ block: "nearest" });
  };
  const films = make("div", { className: "clips" });
  const rows = suspects.map((s) => {
    const go = make("button", { type: "button", textContent: `frames ${s.first}–${s.last}` });
    go.onclick = () => jump(s);
    const who = s.track === s.other ? `${s.track}` : `${s.track} and ${s.other}`;
    const chance = s.state === "open" ? `${(100 * s.probability).toFixed(1)} %` : s.state;
    if (s.clip) {
      const shown = make("figure", {}, film(s.clip), make("figcaption", { textContent: `${s.kind} of ${who}, ${s.first}–${s.last}, ${s.clip.camera}` }));
      shown.onclick = () => jump(s);
      films.append(shown);
    }
    return make("tr", {}, make("td", {}, go), ...[s.kind, who, chance].map((text) => make("td", { textContent: text })));
  });
  const head = make("thead", {}, make("tr", {}, ...["moment", "kind", "tracks", "chance to be wrong"].map((t) => make("th", { textContent: t }))));
  if (films.children.length) $("suspectlist").before(films);
  $("suspectlist").append(make("table", {}, head, make("tbody", {}, ...rows)));
}
