// Tracks and detections, by chunks of frames: what is shown is loaded, neighbours in advance.
import { bytes } from "./api.js";
import { announce, say, state } from "./state.js";

const MAGIC = 0x33444654;
const MOST = 24;

function opened(buffer) {
  const head = new Uint32Array(buffer, 0, 4);
  if (head[0] !== MAGIC) throw new Error("the server sent something else than a chunk");
  let at = 16;
  const n = head[1];
  const column = (Kind) => {
    const values = new Kind(buffer, at, n);
    at += values.byteLength;
    return values;
  };
  return { n, cameras: head[2], parts: head[3], column };
}

function byFrame(frame, first, size) {
  const start = new Int32Array(size + 1);
  for (const f of frame) start[f - first + 1]++;
  for (let k = 0; k < size; k++) start[k + 1] += start[k];
  return start;
}

function readTracks(buffer, first, size) {
  const { n, cameras, column } = opened(buffer);
  const chunk = { n, first, size, track: column(Float64Array), frame: column(Int32Array) };
  for (const name of ["x", "y", "z", "sigma", "confidence"]) chunk[name] = column(Float32Array);
  chunk.flags = column(Int32Array);
  chunk.heading = Array.from({ length: 3 }, () => column(Float32Array));
  chunk.pixels = Array.from({ length: cameras }, () => [column(Float32Array), column(Float32Array)]);
  chunk.start = byFrame(chunk.frame, first, size);
  chunk.rows = new Map();
  for (let i = 0; i < n; i++) {
    const mine = chunk.rows.get(chunk.track[i]);
    if (mine) mine.push(i);
    else chunk.rows.set(chunk.track[i], [i]);
  }
  return chunk;
}

function readPoses(buffer, first, size) {
  const { n, cameras, parts, column } = opened(buffer);
  const chunk = { n, first, size, track: column(Float64Array), frame: column(Int32Array) };
  const of = (names) => Array.from({ length: parts }, () => Object.fromEntries(names.map((name) => [name, column(Float32Array)])));
  chunk.parts = of(["x", "y", "z", "seen"]);
  chunk.pixels = Array.from({ length: cameras }, () => of(["u", "v"]));
  chunk.start = byFrame(chunk.frame, first, size);
  return chunk;
}

function readDetections(buffer, first, size) {
  const { n, parts, column } = opened(buffer);
  const chunk = { n, first, size, owner: column(Float64Array) };
  for (const name of ["frame", "camera", "row"]) chunk[name] = column(Int32Array);
  for (const name of ["u", "v", "x1", "y1", "x2", "y2", "score"]) chunk[name] = column(Float32Array);
  chunk.parts = Array.from({ length: parts }, () => ({ u: column(Float32Array), v: column(Float32Array) }));
  chunk.start = byFrame(chunk.frame, first, size);
  return chunk;
}

class Chunks {
  constructor(what, read) {
    Object.assign(this, { what, read, kept: new Map(), coming: new Map() });
  }

  place(frame) {
    const { span, chunk } = state.meta;
    return Math.floor((frame - span[0]) / chunk);
  }

  /** The chunk of a frame, or null until it is there. */
  at(frame) {
    const k = this.place(frame);
    const found = this.kept.get(k);
    if (!found || found.version !== state.version) this.load(k);
    return found ?? null;
  }

  /** Resolves when the chunk of a frame is there, as the tracks are now. */
  async need(frame) {
    const k = this.place(frame);
    if (this.kept.get(k)?.version !== state.version) await this.load(k);
  }

  /** Resolves when what was asked for has come; what is on its way is not asked for twice. */
  load(k) {
    const { span, chunk } = state.meta;
    const first = span[0] + k * chunk;
    if (k < 0 || first > span[1]) return Promise.resolve();
    const { version } = state;
    const coming = this.coming.get(k);
    if (coming?.version === version) return coming.done;
    const done = this.fetch(k, first, version).finally(() => this.coming.get(k)?.version === version && this.coming.delete(k));
    this.coming.set(k, { version, done });
    return done;
  }

  async fetch(k, first, version) {
    try {
      const found = this.read(await bytes(`${this.what}?first=${first}`), first, state.meta.chunk);
      if (this.kept.get(k)?.version === state.version) return; // a newer one overtook it
      found.version = version;
      this.kept.delete(k);
      this.kept.set(k, found);
      while (this.kept.size > MOST) this.kept.delete(this.kept.keys().next().value);
      announce("frame");
    } catch (error) {
      say(String(error.message), true);
    }
  }

  /** Load what will be shown soon. */
  ahead(frame) {
    const { chunk } = state.meta;
    const into = (frame - state.meta.span[0]) % chunk;
    if (into > 0.6 * chunk) this.at(frame + chunk);
    if (into < 0.25 * chunk) this.at(frame - chunk);
  }
}

export const tracks = new Chunks("tracks", readTracks);
export const detections = new Chunks("detections", readDetections);
export const poses = new Chunks("poses", readPoses);

/** Rows of a frame: {chunk, a, b}, or null until they are there. */
export function rowsAt(source, frame) {
  const chunk = source.at(frame);
  if (!chunk) return null;
  const k = frame - chunk.first;
  return { chunk, a: chunk.start[k] ?? 0, b: chunk.start[k + 1] ?? 0 };
}

/** Where a track is in a frame: {chunk, row}, or null. */
export function find(track, frame) {
  const here = rowsAt(tracks, frame);
  if (!here) return null;
  for (let i = here.a; i < here.b; i++) if (here.chunk.track[i] === track) return { chunk: here.chunk, row: i };
  return null;
}

/** Points of a track from a frame to another, ascending, of chunks that are there: call visit(chunk, row). */
export function along(track, first, last, visit) {
  for (let k = tracks.place(first); k <= tracks.place(last); k++) {
    const chunk = tracks.kept.get(k);
    const mine = chunk?.rows.get(track);
    if (!mine) continue;
    let [low, high] = [0, mine.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (chunk.frame[mine[middle]] < first) low = middle + 1;
      else high = middle;
    }
    for (; low < mine.length && chunk.frame[mine[low]] <= last; low++) visit(chunk, mine[low]);
  }
}

export const placeOf = ({ chunk, row }) => [chunk.x[row], chunk.y[row], chunk.z[row]];

/** Velocity of a track about a row, world units a frame, over a few frames: over one it is mostly noise. */
export function velocity(chunk, row) {
  const mine = chunk.rows.get(chunk.track[row]);
  let [low, high] = [0, mine.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (mine[middle] < row) low = middle + 1;
    else high = middle;
  }
  const [a, b] = [mine[Math.max(0, low - 3)], mine[Math.min(mine.length - 1, low + 3)]];
  const time = chunk.frame[b] - chunk.frame[a];
  if (!time) return [0, 0, 0];
  return [(chunk.x[b] - chunk.x[a]) / time, (chunk.y[b] - chunk.y[a]) / time, (chunk.z[b] - chunk.z[a]) / time];
}
