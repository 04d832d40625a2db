import { decode, report } from "./decode.js";
import { colour, css, on } from "./state.js";
import { $, make, sharp, short, ticks, tip } from "./dom.js";
import { SMALL, behaviour, lengthUnit } from "./behaviour.js";

const LEFT = 44;
const BELOW = 34;

export function panel(parent, name, text, draw, height = 300) {
  const canvas = make("canvas");
  canvas.style.height = height + "px";
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${name}: ${text}`);
  parent.append(make("figure", {}, make("figcaption", {}, name + " ", make("span", { textContent: text })), canvas));
  on("look", sharp(canvas, draw));
  return canvas;
}

/** Box of the plot within a canvas, as wide and high as the world asks for. */
function frame(width, height, across, along) {
  const scale = Math.min((width - LEFT - 8) / across, (height - BELOW - 8) / along);
  return { left: LEFT, top: 6, width: across * scale, height: along * scale };
}

/** Cells (u8) as a picture: value(column, row from below), axes with names and numbers. */
function heat(context, box, columns, rows, value, X, Y) {
  context.fillStyle = css("faint");
  context.fillRect(box.left, box.top, box.width, box.height);
  context.fillStyle = css("accent");
  const w = box.width / columns;
  const h = box.height / rows;
  for (let c = 0; c < columns; c++) {
    for (let r = 0; r < rows; r++) {
      const v = value(c, r);
      if (!v) continue;
      context.globalAlpha = 0.06 + (0.94 * v) / 255;
      context.fillRect(box.left + c * w, box.top + box.height - (r + 1) * h, w + 0.4, h + 0.4);
    }
  }
  context.globalAlpha = 1;
  context.fillStyle = css("muted");
  context.font = SMALL;
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  for (const t of ticks(Math.min(X.low, X.high), Math.max(X.low, X.high), Math.max(2, box.width / 60))) {
    const x = box.left + ((t - X.low) / (X.high - X.low)) * box.width;
    context.fillRect(x, box.top + box.height, 1, 3);
    context.fillText(short(t), x, box.top + box.height + 14);
  }
  context.fillText(X.name, box.left + box.width / 2, box.top + box.height + 28);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const t of ticks(Math.min(Y.low, Y.high), Math.max(Y.low, Y.high), Math.max(2, box.height / 40))) {
    const y = box.top + box.height - ((t - Y.low) / (Y.high - Y.low)) * box.height;
    context.fillRect(box.left - 3, y, 3, 1);
    context.fillText(short(t), box.left - 5, Math.max(box.top + 5, y));
  }
  context.save();
  context.translate(11, box.top + box.height / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText(Y.name, 0, 0);
  context.restore();
}

/** The swimmer in the middle of its neighbours: looking up (above), right (side), or away (behind). */
function swimmer(context, box, towards) {
  const x = box.left + box.width / 2;
  const y = box.top + box.height / 2;
  context.fillStyle = css("ink");
  context.strokeStyle = css("panel");
  context.lineWidth = 1.5;
  context.beginPath();
  if (towards === "away") context.arc(x, y, 4, 0, 2 * Math.PI);
  else {
    const turn = towards === "up" ? -Math.PI / 2 : 0;
    const at = (along, across) => [x + along * Math.cos(turn) - across * Math.sin(turn), y + along * Math.sin(turn) + across * Math.cos(turn)];
    context.moveTo(...at(9, 0));
    context.lineTo(...at(-6, 4.5));
    context.lineTo(...at(-6, -4.5));
    context.closePath();
  }
  context.stroke();
  context.fill();
}

function startMaps() {
  const { reach, cells } = behaviour.maps;
  const names = ["from above", "from the side", "from behind"];
  const axes = [["right", "ahead", "up"], ["ahead", "up", "right"], ["right", "up", "away"]];
  cells.forEach((picture, i) => {
    const values = decode(picture.cells);
    const [rows, columns] = picture.cells.shape;
    const across = i === 1; // its rows are ahead, which is drawn to the right
    const value = (c, r) => (across ? values[c * columns + r] : values[r * columns + c]);
    const X = { low: -reach, high: reach, name: `${axes[i][0]}, ${lengthUnit()}` };
    const Y = { low: -reach, high: reach, name: axes[i][1] };
    const text = picture.top ? "stronger: more often" : "no neighbours";
    panel($("neighbourmaps"), names[i], text, (context, width, height) => {
      const box = frame(width, height, 1, 1);
      heat(context, box, across ? rows : columns, across ? columns : rows, value, X, Y);
      swimmer(context, box, axes[i][2]);
    });
  });
}

function startTank() {
  const { low, high, up, sides } = behaviour.tank;
  const upAxis = up.slice(-1);
  const flipped = up[0] === "-";
  sides.forEach((side) => {
    const values = decode(side.cells);
    const [rows, columns] = side.cells.shape;
    // What is up in the world is up in the picture; the other axis runs to the right.
    const turned = side.rows === upAxis;
    const [x, y] = turned ? [side.columns, side.rows] : [side.rows, side.columns];
    const flip = y === upAxis && flipped;
    const [C, R] = turned ? [columns, rows] : [rows, columns];
    const value = (c, r) => {
      const row = flip ? R - 1 - r : r;
      return turned ? values[row * columns + c] : values[c * columns + row];
    };
    const at = (axis) => "xyz".indexOf(axis);
    const span = (axis, back) => {
      const [a, b] = [low[at(axis)], high[at(axis)]];
      return { low: back ? b : a, high: back ? a : b, name: `${axis}, ${lengthUnit()}` };
    };
    const seen = "xyz".replace(side.rows, "").replace(side.columns, "");
    const name = seen === upAxis ? "from above" : `along ${seen}`;
    panel($("tankmaps"), name, "stronger: more time", (context, width, height) => {
      const box = frame(width, height, high[at(x)] - low[at(x)], high[at(y)] - low[at(y)]);
      heat(context, box, C, R, value, span(x, false), span(y, flip));
    });
  });
}

/** Bars or a line from 0 to high, with numbers below. */
function curve(context, width, height, high, values, top, bars) {
  const base = height - BELOW;
  const X = (share) => LEFT + share * (width - LEFT - 10);
  const Y = (v) => base - (v / top) * (base - 8);
  context.font = SMALL;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const t of ticks(0, top, 3)) {
    context.fillStyle = css("faint");
    context.fillRect(LEFT, Y(t), width - LEFT - 10, 1);
    context.fillStyle = css("muted");
    context.fillText(short(t), LEFT - 5, Math.max(7, Y(t)));
  }
  context.fillStyle = css("accent");
  context.strokeStyle = css("accent");
  context.lineWidth = 1.6;
  context.beginPath();
  values.forEach((v, i) => {
    if (v === null) return;
    if (bars) {
      context.globalAlpha = 0.6;
      context.fillRect(X(i / values.length), Y(v), (width - LEFT - 10) / values.length - 0.6, base - Y(v));
    } else context.lineTo(X((i + 0.5) / values.length), Y(v));
  });
  if (!bars) context.stroke();
  context.globalAlpha = 1;
  context.fillStyle = css("muted");
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  for (const t of ticks(0, high, 5)) {
    context.fillRect(X(t / high), base, 1, 3);
    context.fillText(short(t), Math.min(X(t / high), width - 12), base + 14);
  }
}

function startCurves() {
  const parent = $("behaviourcurves");
  const named = { speed: ["Speed", lengthUnit("/s")], nearest_neighbour: ["Nearest neighbour", lengthUnit()] };
  for (const [key, [name, what]] of Object.entries(named)) {
    const { high, shares } = behaviour.distributions[key];
    if (!shares.some((v) => v > 0)) continue;
    panel(parent, name, `share of points, %, over ${what}`, (context, width, height) => {
      curve(context, width, height, high, shares.map((v) => 100 * v), 100 * Math.max(...shares), true);
    }, 170);
  }
  const { g, high } = behaviour.pairs;
  const known = g.filter((v) => v !== null);
  if (!known.length) return;
  panel(parent, "Pair correlation", `pairs found over pairs by chance, over distance, ${lengthUnit()}`, (context, width, height) => {
    curve(context, width, height, high, g, Math.max(1.2, ...known), false);
  }, 170);
}

/** Who leads whom: rows lead columns in one colour, follow them in the other; deeper for longer delays. */
function startLeaders() {
  const K = behaviour.tracks.length;
  const { delay, strength } = behaviour.leaders;
  const most = Math.max(...delay.flat().map((v) => Math.abs(v || 0)));
  if (K < 2 || !most) return;
  const box = (width, height) => {
    const size = Math.min(width - LEFT - 8, height - BELOW);
    return { left: LEFT, top: 4, cell: size / K };
  };
  const text = "does the row lead the column (blue) or follow it (orange)? Faint where headings hardly agree.";
  const canvas = panel($("behaviourcurves"), "Leadership", text, (context, width, height) => {
    const { left, top, cell } = box(width, height);
    context.font = SMALL;
    for (let i = 0; i < K; i++) {
      for (let j = 0; j < K; j++) {
        context.fillStyle = css("faint");
        context.globalAlpha = 1;
        context.fillRect(left + j * cell, top + i * cell, cell - 1, cell - 1);
        const d = delay[i][j];
        if (i === j || d === null) continue;
        context.fillStyle = d > 0 ? css("accent") : css("alarm");
        context.globalAlpha = (Math.abs(d) / most) * (strength[i][j] >= 0.5 ? 1 : 0.25);
        context.fillRect(left + j * cell, top + i * cell, cell - 1, cell - 1);
      }
      context.globalAlpha = 1;
      context.fillStyle = colour(Math.max(behaviour.index[i], 0));
      context.textAlign = "right";
      context.textBaseline = "middle";
      if (cell >= 9) context.fillText(behaviour.tracks[i], left - 5, top + (i + 0.5) * cell, LEFT - 8);
      context.textAlign = "center";
      context.textBaseline = "top";
      if (cell >= 14) context.fillText(behaviour.tracks[i], left + (i + 0.5) * cell, top + K * cell + 3, cell);
    }
  }, 230);
  canvas.addEventListener("pointermove", (event) => {
    const area = canvas.getBoundingClientRect();
    const { left, top, cell } = box(area.width, area.height);
    const [i, j] = [Math.floor((event.clientY - area.top - top) / cell), Math.floor((event.clientX - area.left - left) / cell)];
    const inside = i >= 0 && j >= 0 && i < K && j < K && i !== j && delay[i][j] !== null;
    const verb = inside && delay[i][j] < 0 ? "follows" : "leads";
    const words = () => `${behaviour.tracks[i]} ${verb} ${behaviour.tracks[j]} by ${short(Math.abs(delay[i][j]))} s, correlation ${short(strength[i][j])}`;
    tip(event, inside ? words() : "");
  });
  canvas.addEventListener("pointerleave", (event) => tip(event, ""));
}

/** Everything of behaviour that lies in space, and its distributions. */
export function startBehaviourMaps() {
  if (!behaviour || !behaviour.tracks.length) return;
  startCurves();
  startLeaders();
  startMaps();
  startTank();
  const flagged = behaviour.anomaly.whole.filter((w) => w.abnormal).length;
  const judged = behaviour.anomaly.whole.some((w) => w.p !== null);
  const shown = behaviour.tracks.length;
  const verdict = judged
    ? `${flagged || "None"} of ${shown} tracks ${flagged > 1 ? "behave" : "behaves"} unlike the others.`
    : "Too few animals together to tell who behaves unlike the others.";
  const rest = report.tracks.size > shown ? ` Of ${report.tracks.size} tracks, the ${shown} long ones are shown; all are in the tables.` : "";
  $("behaviourtext").textContent = verdict + rest;
}
