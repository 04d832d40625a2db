// Colours of tracks: by identity, or on a scale that every eye can read (dark blue to yellow).
import { velocity } from "./chunks.js";
import { isDark, state } from "./state.js";

const RAMP = [[0, 34, 78], [65, 77, 107], [124, 123, 120], [188, 174, 108], [254, 232, 56]];

/** Colour of a share between 0 and 1. */
export function ramp(share) {
  const x = Math.min(0.9999, Math.max(0, share)) * (RAMP.length - 1);
  const k = Math.floor(x);
  const mixed = RAMP[k].map((c, i) => Math.round(c + (RAMP[k + 1][i] - c) * (x - k)));
  return `rgb(${mixed.join(",")})`;
}

export function identity(track) {
  const palette = state.meta.palettes[isDark() ? "dark" : "light"];
  return palette[((track % palette.length) + palette.length) % palette.length];
}

/** What the colour scale shows: its ends and their unit. */
export function scale() {
  const { units, fps, bodyLength, space } = state.meta;
  if (state.colour === "speed") return { low: 0, high: 4 * bodyLength, unit: `${units}/s`, note: "", fps };
  if (state.colour === "confidence") return { low: 0.5, high: 1, unit: "", note: "of the link" };
  const axis = space.up.findIndex((x) => Math.abs(x) > 0.5);
  return { low: 0, high: space.high[axis] - space.low[axis], unit: units, note: "below the top", axis };
}

/** Colour of a point. */
export function colourOf(chunk, row) {
  if (state.colour === "identity") return identity(chunk.track[row]);
  const s = scale();
  let value = chunk.confidence[row];
  if (state.colour === "speed") value = Math.hypot(...velocity(chunk, row)) * s.fps;
  if (state.colour === "depth") {
    const { space } = state.meta;
    const at = [chunk.x[row], chunk.y[row], chunk.z[row]][s.axis];
    value = space.up[s.axis] > 0 ? space.high[s.axis] - at : at - space.low[s.axis];
  }
  return Number.isNaN(value) ? "#888888" : ramp((value - s.low) / (s.high - s.low));
}
