// The contents of the page, unpacked. Arrays come as base64 of little-endian numbers; see report/packing.py.

const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f32: Float32Array, f64: Float64Array };
const UNKNOWN = 65535;

/** Typed array of a packed one; quantised numbers become floats, unknown ones NaN. */
export function decode(packed) {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const values = new KINDS[packed.kind](bytes.buffer);
  if (!packed.step) return values;
  const width = packed.step.length;
  const out = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const k = i % width;
    out[i] = values[i] === UNKNOWN ? NaN : packed.low[k] + packed.step[k] * values[i];
  }
  return out;
}

/** Points of many tracks, sorted by track and frame; track k has the rows start[k] to start[k + 1]. */
function decodePoints(packed, cameras) {
  const set = { names: packed.names, size: packed.names.length, cameras };
  for (const key of ["start", "frame", "state", "views", "xyz", "sigma", "error", "confidence", "pixels", "runs", "observed"]) {
    if (packed[key]) set[key] = decode(packed[key]);
  }
  return set;
}

const raw = JSON.parse(document.getElementById("data").textContent);
const cameraCount = raw.cameras.length;
export const report = {
  ...raw,
  tracks: { ...decodePoints(raw.tracks, cameraCount), meanError: raw.tracks.meanError },
  truth: raw.truth && decodePoints(raw.truth, cameraCount),
  poses: raw.poses && { ...decodePoints(raw.poses, cameraCount), parts: raw.poses.parts, edges: raw.poses.edges },
  detections: {
    total: raw.detections.total,
    start: decode(raw.detections.start),
    camera: decode(raw.detections.camera),
    owner: decode(raw.detections.owner),
    pixels: decode(raw.detections.pixels),
  },
  counts: { ...raw.counts, cameras: decode(raw.counts.cameras), tracks: decode(raw.counts.tracks) },
  frameNumbers: raw.axis.numbers && decode(raw.axis.numbers),
  animals: raw.scores && { names: raw.scores.animals.names, runs: decode(raw.scores.animals.runs) },
};

/** Number of frames that can be shown (every stride-th of the recording). */
export const shownFrames = Math.ceil(raw.axis.count / raw.axis.stride);

/** Frame number of a position on the whole axis. */
export function frameNumber(position) {
  return report.frameNumbers ? report.frameNumbers[position] : raw.axis.first + position;
}

/** Seconds since frame 0, of a position on the whole axis: the tables' time_s. */
export function seconds(position) {
  return frameNumber(position) / raw.fps;
}

/** First row of track k at or after a shown frame (start[k + 1] if none). */
export function rowAfter(set, k, frame) {
  let low = set.start[k];
  let high = set.start[k + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (set.frame[middle] < frame) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Row of track k at a shown frame, or -1. */
export function rowAt(set, k, frame) {
  const row = rowAfter(set, k, frame);
  return row < set.start[k + 1] && set.frame[row] === frame ? row : -1;
}
