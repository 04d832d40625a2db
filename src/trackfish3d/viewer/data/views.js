// The camera views: the exact picture of the frame, boxes, tracks seen through the water, and what is picked.
import { ask, picture } from "./api.js";
import { along, detections, poses, rowsAt, tracks } from "./chunks.js";
import { colourOf, identity } from "./colours.js";
import { $, announce, css, inTurn, on, say, state } from "./state.js";

const KEPT = 48; // pictures of a camera
const MEMORY = 600e6; // bytes of pictures of all cameras

/** Pictures of one camera: one request at a time, and always for the newest wish. */
class Film {
  constructor(camera) {
    Object.assign(this, { camera, kept: new Map(), wanted: null, asking: false });
  }

  /** The picture of a frame: null where there is none, undefined until it is there. */
  at(frame, width) {
    const found = this.kept.get(frame);
    if (found !== undefined && (found.image === null || found.width >= width)) return found.image;
    this.wanted = { frame, width };
    this.next();
    return found?.image;
  }

  async next() {
    if (this.asking || !this.wanted) return;
    const { frame, width } = this.wanted;
    this.wanted = null;
    this.asking = true;
    try {
      const image = await picture(this.camera, frame, width);
      if (image !== undefined) {
        this.kept.delete(frame);
        this.kept.set(frame, { image, width });
        const most = image ? Math.min(KEPT, Math.max(4, MEMORY / films.length / (4 * image.width * image.height))) : KEPT;
        while (this.kept.size > most) {
          const [old, entry] = this.kept.entries().next().value;
          this.kept.delete(old);
          entry.image?.close();
        }
      }
      announce("frame");
    } catch (error) {
      this.kept.set(frame, { image: null, width, wrong: true });
      say(String(error.message), true);
      announce("frame");
    } finally {
      this.asking = false;
      this.next();
    }
  }
}

export const films = [];
const looks = [];

class Look {
  constructor(k, camera) {
    this.k = k;
    this.camera = camera;
    this.zoom = 1;
    this.middle = [camera.size[0] / 2, camera.size[1] / 2];
    this.figure = document.createElement("figure");
    this.figure.dataset.camera = k;
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `camera ${camera.name}`);
    this.caption = document.createElement("figcaption");
    this.figure.append(this.canvas, this.caption);
    this.listen();
  }

  get fit() {
    return Math.min(this.canvas.clientWidth / this.camera.size[0], this.canvas.clientHeight / this.camera.size[1]) * this.zoom;
  }

  toScreen(u, v) {
    return [this.canvas.clientWidth / 2 + (u - this.middle[0]) * this.fit, this.canvas.clientHeight / 2 + (v - this.middle[1]) * this.fit];
  }

  toImage(x, y) {
    return [this.middle[0] + (x - this.canvas.clientWidth / 2) / this.fit, this.middle[1] + (y - this.canvas.clientHeight / 2) / this.fit];
  }

  listen() {
    const c = this.canvas;
    let from = null;
    c.addEventListener("wheel", (event) => {
      event.preventDefault();
      const before = this.toImage(event.offsetX, event.offsetY);
      this.zoom = Math.min(64, Math.max(1, this.zoom * Math.exp(-0.0015 * event.deltaY)));
      const after = this.toImage(event.offsetX, event.offsetY);
      this.middle = this.zoom === 1 ? [this.camera.size[0] / 2, this.camera.size[1] / 2] : this.middle.map((m, i) => m + before[i] - after[i]);
      announce("frame");
    }, { passive: false });
    c.addEventListener("pointerdown", (event) => {
      from = { x: event.offsetX, y: event.offsetY, middle: this.middle, moved: false };
      c.setPointerCapture(event.pointerId);
    });
    c.addEventListener("pointermove", (event) => {
      if (!from) return;
      const [dx, dy] = [event.offsetX - from.x, event.offsetY - from.y];
      if (Math.hypot(dx, dy) > 4) from.moved = true;
      if (from.moved && this.zoom > 1) {
        this.middle = [from.middle[0] - dx / this.fit, from.middle[1] - dy / this.fit];
        announce("frame");
      }
    });
    c.addEventListener("pointerup", (event) => {
      const clicked = from && !from.moved;
      from = null;
      if (clicked) this.clicked(event.offsetX, event.offsetY, event.shiftKey);
    });
    c.addEventListener("dblclick", () => enlarge(this.k));
  }

  /** What is under a place is looked up at once; it is picked in its turn, after keys that were pressed before. */
  clicked(x, y, second) {
    const [u, v] = this.toImage(x, y);
    const found = this.under(x, y, u, v);
    inTurn(() => {
      if (state.clicking) {
        state.clicking.pixels[this.camera.name] = [u, v];
        state.clicking.view = this.k;
        announce("frame", "edits");
      } else this.pick(found, second);
    });
  }

  /** The track and the box at a place of the screen. */
  under(x, y, u, v) {
    let [best, least] = [null, 16];
    const here = rowsAt(tracks, state.frame);
    for (let i = here?.a ?? 0; here && i < here.b; i++) {
      const p = this.toScreen(here.chunk.pixels[this.k][0][i], here.chunk.pixels[this.k][1][i]);
      const gap = Math.hypot(p[0] - x, p[1] - y);
      if (gap < least) [best, least] = [here.chunk.track[i], gap];
    }
    const box = this.boxAt(u, v);
    return { box, owner: box && !Number.isNaN(box.owner) ? box.owner : best };
  }

  async pick({ box, owner }, second) {
    if (second) state.other = owner;
    else state.selected = owner;
    state.detection = box && !second ? { camera: this.k, frame: state.frame, ...box } : null;
    state.curves = null;
    announce("frame", "edits");
    const { detection, frame } = state;
    if (detection) {
      try {
        const curves = await ask(`epipolar?camera=${this.k}&u=${box.u}&v=${box.v}`);
        if (state.detection !== detection) return; // something else was picked meanwhile
        state.curves = { frame, curves };
        announce("frame");
      } catch (error) {
        say(String(error.message), true);
      }
    }
  }

  /** The smallest box around a place. */
  boxAt(u, v) {
    const here = rowsAt(detections, state.frame);
    let [best, least] = [null, Infinity];
    for (let i = here?.a ?? 0; here && i < here.b; i++) {
      const d = here.chunk;
      const slack = 3 / this.fit;
      if (d.camera[i] !== this.k || u < d.x1[i] - slack || u > d.x2[i] + slack || v < d.y1[i] - slack || v > d.y2[i] + slack) continue;
      const area = (d.x2[i] - d.x1[i]) * (d.y2[i] - d.y1[i]);
      if (area < least) [best, least] = [{ row: d.row[i], owner: d.owner[i], u: d.u[i], v: d.v[i] }, area];
    }
    return best;
  }

  draw() {
    const c = this.canvas;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [w, h] = [c.clientWidth, c.clientHeight];
    if (!w || !h) return;
    Object.assign(c, { width: Math.round(w * ratio), height: Math.round(h * ratio) });
    const g = c.getContext("2d");
    g.scale(ratio, ratio);
    const [x0, y0] = this.toScreen(0, 0);
    const [x1, y1] = this.toScreen(...this.camera.size);
    let note = "no film";
    if (this.camera.film) {
      const width = Math.min(this.camera.size[0], 320 * Math.ceil((w * ratio * this.zoom) / 320));
      const image = films[this.k].at(state.frame, width);
      this.figure.dataset.shown = image ? state.frame : "";
      const none = films[this.k].kept.get(state.frame)?.wrong ? "the film cannot be read here" : "no picture was recorded";
      note = image === null ? none : image ? "" : "…";
      if (image) {
        g.imageSmoothingEnabled = this.zoom < 6;
        g.drawImage(image, x0, y0, x1 - x0, y1 - y0);
      }
    }
    this.bold = parseFloat(getComputedStyle(document.body).fontSize) / 14; // lines grow with the letters
    this.caption.textContent = `${this.k + 1} ${this.camera.name} · ${state.frame}${note ? ` · ${note}` : ""}`;
    g.strokeStyle = css("line");
    g.strokeRect(x0, y0, x1 - x0, y1 - y0);
    this.boxes(g);
    this.paths(g);
    this.bodies(g);
    this.curve(g);
    this.clicks(g);
  }

  boxes(g) {
    const here = rowsAt(detections, state.frame);
    for (let i = here?.a ?? 0; here && i < here.b; i++) {
      const d = here.chunk;
      if (d.camera[i] !== this.k) continue;
      const [a, b] = [this.toScreen(d.x1[i], d.y1[i]), this.toScreen(d.x2[i], d.y2[i])];
      const owned = !Number.isNaN(d.owner[i]);
      const chosen = owned && (d.owner[i] === state.selected || d.owner[i] === state.other);
      g.strokeStyle = owned ? identity(d.owner[i]) : css("box");
      g.globalAlpha = state.selected === null || chosen || !owned ? 0.9 : 0.35;
      g.lineWidth = (chosen ? 2.5 : 1.2) * this.bold;
      g.setLineDash(owned ? [] : [4, 3]);
      g.strokeRect(a[0], a[1], Math.max(2, b[0] - a[0]), Math.max(2, b[1] - a[1]));
      g.setLineDash([]);
      g.globalAlpha = 1;
    }
  }

  paths(g) {
    const here = rowsAt(tracks, state.frame);
    g.font = `${Math.round(11.5 * this.bold)}px system-ui, 'DejaVu Sans', sans-serif`;
    g.textBaseline = "middle";
    for (let i = here?.a ?? 0; here && i < here.b; i++) {
      const { chunk } = here;
      const track = chunk.track[i];
      const p = this.toScreen(chunk.pixels[this.k][0][i], chunk.pixels[this.k][1][i]);
      if (Number.isNaN(p[0])) continue;
      const chosen = track === state.selected || track === state.other;
      const lit = state.selected === null || chosen;
      g.strokeStyle = g.fillStyle = colourOf(chunk, i);
      g.globalAlpha = lit ? 1 : 0.35;
      g.lineWidth = (chosen ? 2.5 : 1.5) * this.bold;
      g.beginPath();
      let begun = false;
      along(track, state.frame - Math.min(state.trail, 60), state.frame, (c, r) => {
        const q = this.toScreen(c.pixels[this.k][0][r], c.pixels[this.k][1][r]);
        if (Number.isNaN(q[0])) return;
        if (begun) g.lineTo(...q);
        else g.moveTo(...q);
        begun = true;
      });
      g.stroke();
      g.beginPath();
      g.arc(p[0], p[1], (chosen ? 5 : 3) * this.bold, 0, 7);
      if (chunk.flags[i] >= 256) g.fill();
      else g.stroke();
      if (state.names && lit) {
        g.lineWidth = 3;
        g.strokeStyle = css("view");
        g.strokeText(String(track), p[0] + 7, p[1] - 7);
        g.fillStyle = css("ink");
        g.fillText(String(track), p[0] + 7, p[1] - 7);
      }
      g.globalAlpha = 1;
    }
  }

  /** Bodies seen through lens and water, and the parts that were found in this view (crosses). */
  bodies(g) {
    if (!state.parts) return;
    const { skeleton, partsSeen } = state.meta;
    const here = skeleton && rowsAt(poses, state.frame);
    for (let i = here?.a ?? 0; here && i < here.b; i++) {
      const { chunk } = here;
      const places = chunk.pixels[this.k].map((p) => this.toScreen(p.u[i], p.v[i]));
      this.shade(g, chunk.track[i], 1);
      g.lineWidth = 2 * this.bold;
      for (const [a, b] of skeleton.edges) {
        if (Number.isNaN(places[a][0]) || Number.isNaN(places[b][0])) continue;
        g.beginPath();
        g.moveTo(...places[a]);
        g.lineTo(...places[b]);
        g.stroke();
      }
      places.forEach(([x, y], k) => {
        if (Number.isNaN(x)) return;
        g.beginPath();
        g.arc(x, y, 2.2 * this.bold, 0, 7);
        g.lineWidth = 1;
        if (chunk.parts[k].seen[i]) g.fill();
        else g.stroke();
      });
    }
    const seen = partsSeen && rowsAt(detections, state.frame);
    for (let i = seen?.a ?? 0; seen && i < seen.b; i++) {
      if (seen.chunk.camera[i] !== this.k) continue;
      this.shade(g, seen.chunk.owner[i], 0.8);
      g.lineWidth = 1;
      g.beginPath();
      for (const part of seen.chunk.parts) {
        const [x, y] = this.toScreen(part.u[i], part.v[i]);
        if (Number.isNaN(x)) continue;
        g.moveTo(x - 3, y - 3);
        g.lineTo(x + 3, y + 3);
        g.moveTo(x - 3, y + 3);
        g.lineTo(x + 3, y - 3);
      }
      g.stroke();
    }
    g.globalAlpha = 1;
  }

  /** The colour of a track's own, paler where others are picked; grey for nobody's. */
  shade(g, track, alpha) {
    const lit = state.selected === null || track === state.selected || track === state.other;
    g.strokeStyle = g.fillStyle = Number.isNaN(track) ? css("box") : identity(track);
    g.globalAlpha = lit ? alpha : 0.3 * alpha;
  }

  curve(g) {
    const points = state.curves?.frame === state.frame ? state.curves.curves[this.k] : [];
    if (!points.length) return;
    g.beginPath();
    points.forEach(([u, v], k) => (k ? g.lineTo(...this.toScreen(u, v)) : g.moveTo(...this.toScreen(u, v))));
    for (const [width, colour] of [[4, css("view")], [1.8, css("accent")]]) {
      g.lineWidth = width * this.bold;
      g.strokeStyle = colour;
      g.stroke();
    }
  }

  clicks(g) {
    const at = state.clicking?.pixels[this.camera.name];
    if (!at) return;
    const [x, y] = this.toScreen(...at);
    g.strokeStyle = css("alarm");
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(x - 9, y);
    g.lineTo(x + 9, y);
    g.moveTo(x, y - 9);
    g.lineTo(x, y + 9);
    g.stroke();
  }
}

/** Put the cross of a point that is being drawn into a view: where its track is seen nearest in time, or the middle. */
export function aim(k) {
  const look = looks[k];
  if (!look) return say(`there is no view ${k + 1}`, true);
  const { track, frame, pixels } = state.clicking;
  let [at, least] = [look.middle, Infinity];
  along(track, frame - 60, frame + 60, (chunk, row) => {
    const seen = [chunk.pixels[k][0][row], chunk.pixels[k][1][row]];
    const apart = Math.abs(chunk.frame[row] - frame);
    if (apart < least && !Number.isNaN(seen[0])) [at, least] = [seen, apart];
  });
  state.clicking.view = k;
  pixels[look.camera.name] ??= [...at];
  announce("frame", "edits");
}

/** Move the cross of the view that was aimed at last, px of the image. */
export function nudge(du, dv) {
  const look = looks[state.clicking.view];
  if (!look) return say("choose a view for the point by its number first", true);
  const at = state.clicking.pixels[look.camera.name];
  [at[0], at[1]] = [at[0] + du, at[1] + dv];
  announce("frame", "edits");
}

/** Show one view large, or all again. */
export function enlarge(k) {
  const stage = $("stage");
  const again = k === null || looks[k]?.figure.classList.contains("large");
  for (const look of looks) {
    look.figure.classList.toggle("large", !again && look.k === k);
    if (again) Object.assign(look, { zoom: 1, middle: [look.camera.size[0] / 2, look.camera.size[1] / 2] });
  }
  stage.classList.toggle("large", !again);
  announce("frame");
}

export function startViews() {
  const { cameras } = state.meta;
  const holder = $("views");
  holder.dataset.columns = cameras.length <= 1 ? 1 : cameras.length <= 6 ? (cameras.length <= 2 ? 1 : 2) : 3;
  cameras.forEach((camera, k) => {
    films.push(new Film(k));
    looks.push(new Look(k, camera));
    holder.append(looks[k].figure);
    new ResizeObserver(() => announce("frame")).observe(looks[k].canvas);
  });
  on("frame", () => {
    if (state.detection && state.detection.frame !== state.frame) state.curves = state.detection = null;
    for (const look of looks) look.draw();
  });
  state.ready = () => looks.every((l) => !l.camera.film || films[l.k].kept.has(state.frame) || !l.canvas.clientWidth);
  state.toView = (k, u, v) => looks[k].toScreen(u, v);
}
