import { frameNumber, report } from "./decode.js";
import { change, colour, goTo, on } from "./state.js";
import { $, make, short } from "./dom.js";
import { behaviour } from "./behaviour.js";

const MOST_ROWS = 1000;

function table(caption, head, rows) {
  const cells = (kind, values) => values.map((v) => make(kind, {}, v instanceof Node ? v : String(v)));
  const body = make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells("td", row))));
  const parts = [make("thead", {}, make("tr", {}, ...cells("th", head))), body];
  return make("table", {}, ...(caption ? [make("caption", { textContent: caption })] : []), ...parts);
}

/** Every track: when, how long, how well seen. The pictures in words, for those who do not see them. */
function trackTable() {
  const { names, runs, meanError, size } = report.tracks;
  const sums = names.map(() => ({ first: Infinity, last: -1, frames: [0, 0, 0, 0] }));
  for (let i = 0; i < runs.length; i += 4) {
    const sum = sums[runs[i]];
    sum.first = Math.min(sum.first, runs[i + 1]);
    sum.last = Math.max(sum.last, runs[i + 2]);
    sum.frames[runs[i + 3]] += runs[i + 2] - runs[i + 1] + 1;
  }
  const swatches = [];
  const rows = sums.slice(0, MOST_ROWS).map((sum, k) => {
    const total = sum.frames[1] + sum.frames[2] + sum.frames[3];
    const share = (kind) => `${Math.round((100 * sum.frames[kind]) / total)} %`;
    const swatch = make("span", { className: "swatch" });
    swatches.push(swatch);
    const go = make("button", { type: "button", title: "Show this track" }, swatch, names[k]);
    go.addEventListener("click", () => {
      change({ selected: k });
      goTo(sum.first);
    });
    return [go, frameNumber(sum.first), frameNumber(sum.last), total, share(1), share(2), share(3), short(meanError[k])];
  });
  const paint = () => swatches.forEach((s, k) => (s.style.background = colour(k)));
  on("look", paint);
  const head = ["track", "first frame", "last frame", "points", "observed", "one camera", "interpolated", "mean error, px"];
  $("tracktable").append(table(size > MOST_ROWS ? `The first ${MOST_ROWS} of ${size} tracks` : "", head, rows));
}

function scoreTiles() {
  if (!report.scores) return;
  $("scores").hidden = $("allscores").hidden = false;
  const tile = ({ name, value, meaning }) =>
    make("div", { title: meaning }, make("dt", { textContent: name }), make("dd", { textContent: value }));
  $("headline").append(...report.scores.tiles.slice(0, 3).map(tile));
  $("tiles").append(...report.scores.tiles.map(tile));
  const unit = report.units === "unit" ? "" : ` ${report.units}`;
  const gate = { name: "gate", value: short(report.scores.gate) + unit, meaning: "largest distance of a track point to the truth that counts as a match" };
  $("tiles").append(tile(gate));
  $("scoretable").append(table("", ["score", "value"], report.scores.all.map(([name, value]) => [name, value ?? "–"])));
}

/** What the analysis says of each track. */
function behaviourTable() {
  if (!behaviour) return;
  const rows = behaviour.tracks.map((name, k) => {
    const { p, probability, abnormal, evidence } = behaviour.anomaly.whole[k];
    return [name, p === null ? "–" : abnormal ? "yes" : "no", abnormal ? short(probability) : "–", short(p), evidence];
  });
  $("behaviourtable").append(table("", ["track", "flagged", "P(abnormal)", "p", "far from the others in"], rows));
}

/** What each round of looking at the films again changed, and the same moments before and after it. */
function secondLooks() {
  const { looks } = report;
  if (!looks) return;
  $("looks").hidden = false;
  const text = "Films were read once more with what the first tracks expect. Numbers are of detections.";
  const refused = looks.refused ? ` Round ${looks.rounds.length + 1} was left out, its tracks are worse: ${looks.refused}.` : "";
  $("looktext").textContent = text + refused;
  const rows = looks.rounds.map((counts, k) => [k + 1, ...counts]);
  if (rows.length) $("looktable").append(table("", ["round", "added", "removed", "moved", "as they were"], rows));
  for (const { camera, before, after } of looks.pictures) {
    const pair = make("details", {}, make("summary", { textContent: `${camera}: before and after` }));
    for (const [what, jpeg] of [["before", before], ["after", after]]) {
      const alt = `${camera}, ${what} the second look: outlines of what was found`;
      pair.append(make("p", { className: "legend", textContent: what }));
      pair.append(make("img", { src: `data:image/jpeg;base64,${jpeg}`, alt, loading: "lazy", className: "look" }));
    }
    $("lookpictures").append(pair);
  }
}

/** Everything that is words: facts, notes, scores, settings, versions. */
export function startTables() {
  const { tracks, cameras, axis, fps, units, truth } = report;
  const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  const shown = plural(axis.count, "frame") + (axis.every > 1 ? `, one in ${axis.every}` : "");
  const facts = [plural(tracks.size, "track"), shown, report.fpsKnown ? `${short((axis.count * axis.every) / fps)} s at ${short(fps)} Hz` : "frame rate unknown"];
  facts.push(plural(cameras.length, "camera"), ...(units === "unit" ? [] : [units]), truth ? `truth of ${truth.size}` : "no truth known");
  facts.push(report.tracksFile, ...(report.description ? [report.description] : []));
  $("facts").textContent = facts.join(" · ");
  $("verdicts").hidden = !report.verdicts.length;
  $("verdicts").append(...report.verdicts.map((text) => make("li", { textContent: text })));
  $("notes").hidden = !report.notes.length;
  $("notes").append(...report.notes.map((text) => make("li", { textContent: text })));
  secondLooks();
  scoreTiles();
  trackTable();
  behaviourTable();
  $("settings").append(...report.settings.map(({ file, values }) => table(file, ["setting", "value"], values)));
  $("versions").append(table("", ["package", "version"], report.versions));
}
