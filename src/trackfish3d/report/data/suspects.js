import { report } from "./decode.js";
import { change, goTo } from "./state.js";
import { $, make } from "./dom.js";

const PACE = 180; // ms a picture

/** A clip that runs in a loop. */
function film({ camera, pictures }) {
  const image = make("img", { alt: `camera ${camera} about this moment`, src: `data:image/jpeg;base64,${pictures[0]}` });
  let at = 0;
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
    setInterval(() => {
      at = (at + 1) % pictures.length;
      image.src = `data:image/jpeg;base64,${pictures[at]}`;
    }, PACE);
  }
  return image;
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
