// Vectors are arrays of 3, matrices column-major arrays of 16, as WebGL wants them.

export const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const norm = (a) => Math.hypot(a[0], a[1], a[2]);
export const unit = (a) => a.map((x) => x / (norm(a) || 1));

export function multiply(a, b) {
  const out = new Float32Array(16);
  for (let c = 0; c < 4; c++) {
    for (let r = 0; r < 4; r++) {
      for (let k = 0; k < 4; k++) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
    }
  }
  return out;
}

export function perspective(angle, aspect, near, far) {
  const f = 1 / Math.tan(angle / 2);
  return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0];
}

export function lookAt(eye, target, up) {
  const back = unit(sub(eye, target));
  const right = unit(cross(up, back));
  const top = cross(back, right);
  return [
    right[0], top[0], back[0], 0, right[1], top[1], back[1], 0, right[2], top[2], back[2], 0,
    -dot(right, eye), -dot(top, eye), -dot(back, eye), 1,
  ];
}

/** World point to [x, y, w] on a screen of width x height; w <= 0 is behind the eye. */
export function toScreen(matrix, p, width, height) {
  const at = (r) => matrix[r] * p[0] + matrix[4 + r] * p[1] + matrix[8 + r] * p[2] + matrix[12 + r];
  const w = at(3);
  return [(0.5 + (0.5 * at(0)) / w) * width, (0.5 - (0.5 * at(1)) / w) * height, w];
}
