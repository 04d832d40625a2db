// Painters on WebGL2: lines as thick as one likes (each piece a quad), discs with the look of balls, flat faces.
// A line's buffer holds x, y, z, frame, track, code for each point; code is 2 * state + (1 if joined to the next).

const LINE = `#version 300 es
in vec2 corner; in vec3 a; in vec3 aMeta; in vec3 b; in vec3 bMeta;
uniform mat4 matrix; uniform vec2 screen; uniform float width; uniform vec2 span; uniform float fade; uniform vec4 tint;
uniform vec4 ground; uniform vec2 fog; uniform sampler2D palette;
out vec4 colour; out float side; out float half_;
void main() {
  vec3 p = a, q = b;
  if (ground.w < 1e30) { p -= ground.xyz * (dot(p, ground.xyz) - ground.w); q -= ground.xyz * (dot(q, ground.xyz) - ground.w); }
  vec4 A = matrix * vec4(p, 1.0), B = matrix * vec4(q, 1.0);
  float state = floor(bMeta.z / 2.0);
  bool guessed = state > 2.5 || bMeta.x - aMeta.x > 1.5;
  bool seen = mod(aMeta.z, 2.0) > 0.5 && aMeta.x >= span.x && bMeta.x <= span.y && min(A.w, B.w) > fog.x * 0.02;
  if (guessed && mod(bMeta.x, 4.0) < 2.0 && bMeta.x - aMeta.x < 1.5) seen = false;
  gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  if (!seen) return;
  int k = int(aMeta.y);
  colour = tint.a > 0.0 ? tint : texelFetch(palette, ivec2(k % 256, k / 256), 0);
  if (tint.a < 0.0) colour.a *= -tint.a;
  vec2 d = (B.xy / B.w - A.xy / A.w) * screen;
  d = length(d) > 1e-3 ? normalize(d) : vec2(1.0, 0.0);
  vec4 end = corner.x < 0.5 ? A : B;
  half_ = (guessed ? 0.7 : 1.0) * width * 0.5;
  side = corner.y * (half_ + 1.0);
  if (fade > 0.0) colour.a *= mix(1.0 - fade, 1.0, clamp((bMeta.x - span.x) / max(span.y - span.x, 1.0), 0.0, 1.0));
  colour.a *= mix(1.0, 0.5, clamp((end.w - fog.x) / max(fog.y - fog.x, 1e-6), 0.0, 1.0));
  gl_Position = end + vec4(vec2(-d.y, d.x) * side * 2.0 / screen * end.w, 0.0, 0.0);
}`;
const LINE_COLOUR = `#version 300 es
precision highp float;
in vec4 colour; in float side; in float half_; out vec4 ink;
void main() {
  float cover = clamp(half_ + 0.5 - abs(side), 0.0, 1.0);
  ink = vec4(colour.rgb, colour.a * cover);
  if (ink.a < 0.01) discard;
}`;
const DISC = `#version 300 es
in vec2 corner; in vec3 a; in vec4 shade; in vec3 shape;
uniform mat4 matrix; uniform vec2 screen; uniform float focal; uniform float ratio;
out vec4 colour; out vec2 place; out float kind; out float pixels;
void main() {
  vec4 P = matrix * vec4(a, 1.0);
  gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  if (P.w <= 0.0) return;
  pixels = max(shape.x * focal / P.w, shape.y * ratio) + 1.0;
  colour = shade; place = corner; kind = shape.z;
  gl_Position = P + vec4(corner * pixels * 2.0 / screen * P.w, -0.002 * P.w, 0.0); // before its own trail
}`;
const DISC_COLOUR = `#version 300 es
precision highp float;
uniform vec3 rim;
in vec4 colour; in vec2 place; in float kind; in float pixels; out vec4 ink;
void main() {
  float r = length(place) * pixels;
  float cover = clamp(pixels - r, 0.0, 1.0);
  vec3 c = colour.rgb;
  if (kind < 0.5) {
    float h = r / pixels;
    c *= 0.82 + 0.30 * dot(normalize(vec3(place.x, place.y, sqrt(max(1.0 - h * h, 0.05)))), normalize(vec3(-0.4, 0.6, 0.7)));
    c = mix(c, rim, smoothstep(pixels - 3.0, pixels - 2.0, r));
  } else if (kind > 1.5) {
    cover *= smoothstep(pixels - 3.5, pixels - 2.5, r);
  }
  ink = vec4(c, colour.a * cover);
  if (ink.a < 0.02) discard;
}`;
const FACE = `#version 300 es
in vec3 a; uniform mat4 matrix;
void main() { gl_Position = matrix * vec4(a, 1.0); }`;
const FACE_COLOUR = `#version 300 es
precision highp float;
uniform vec4 tint; out vec4 ink;
void main() { ink = tint; }`;
export const POINT = 6; // numbers in a line's point
export const BALL = 10; // numbers in a disc: x, y, z, r, g, b, a, radius (world), least radius (px), kind (0 ball 1 halo 2 ring)

function program(gl, vertex, fragment, names) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  }
  names.forEach((name, i) => gl.bindAttribLocation(made, i, name));
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  const at = {};
  for (let i = 0; i < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); i++) {
    const { name } = gl.getActiveUniform(made, i);
    at[name] = gl.getUniformLocation(made, name);
  }
  return { made, at };
}

/** All painters of one context. */
export function painters(gl) {
  const line = program(gl, LINE, LINE_COLOUR, ["corner", "a", "aMeta", "b", "bMeta"]);
  const disc = program(gl, DISC, DISC_COLOUR, ["corner", "a", "shade", "shape"]);
  const face = program(gl, FACE, FACE_COLOUR, ["a"]);
  const corners = buffer(gl, [0, -1, 1, -1, 0, 1, 1, 1]);
  const square = buffer(gl, [-1, -1, 1, -1, -1, 1, 1, 1]);
  const balls = buffer(gl, []);
  const palette = gl.createTexture();

  function attributes(source, quad, stride, list) {
    gl.bindBuffer(gl.ARRAY_BUFFER, quad);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.vertexAttribDivisor(0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, source);
    list.forEach(([size, offset], i) => {
      gl.enableVertexAttribArray(i + 1);
      gl.vertexAttribPointer(i + 1, size, gl.FLOAT, false, 4 * stride, 4 * offset);
      gl.vertexAttribDivisor(i + 1, 1);
    });
  }

  return {
    /** Colours of the tracks: rgba bytes, 256 a row. */
    colours(bytes, rows) {
      gl.bindTexture(gl.TEXTURE_2D, palette);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, rows, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    },
    /** Lines between the points of a buffer; look: width, tint (a < 0: track colours times -a), span, fade, ground. */
    lines(source, count, scene, look) {
      if (count < 2) return;
      gl.useProgram(line.made);
      attributes(source, corners, POINT, [[3, 0], [3, 3], [3, POINT], [3, POINT + 3]]);
      gl.bindTexture(gl.TEXTURE_2D, palette);
      gl.uniformMatrix4fv(line.at.matrix, false, scene.matrix);
      gl.uniform2f(line.at.screen, scene.width, scene.height);
      gl.uniform2f(line.at.fog, scene.near, scene.far);
      gl.uniform1f(line.at.width, look.width * scene.ratio);
      gl.uniform2fv(line.at.span, look.span || [-1e9, 1e9]);
      gl.uniform1f(line.at.fade, look.fade || 0);
      gl.uniform4fv(line.at.tint, look.tint);
      gl.uniform4fv(line.at.ground, look.ground || [0, 0, 0, 2e30]);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count - 1);
    },
    /** Discs, from plain numbers. */
    discs(values, scene, rim) {
      if (!values.length) return;
      gl.useProgram(disc.made);
      gl.bindBuffer(gl.ARRAY_BUFFER, balls);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.DYNAMIC_DRAW);
      attributes(balls, square, BALL, [[3, 0], [4, 3], [3, 7]]);
      gl.disableVertexAttribArray(4);
      gl.uniformMatrix4fv(disc.at.matrix, false, scene.matrix);
      gl.uniform2f(disc.at.screen, scene.width, scene.height);
      gl.uniform1f(disc.at.focal, scene.focal);
      gl.uniform1f(disc.at.ratio, scene.ratio);
      gl.uniform3fv(disc.at.rim, rim);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, values.length / BALL);
    },
    /** One flat convex face. */
    face(source, count, scene, tint) {
      gl.useProgram(face.made);
      for (let i = 1; i < 5; i++) gl.disableVertexAttribArray(i);
      gl.bindBuffer(gl.ARRAY_BUFFER, source);
      gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
      gl.vertexAttribDivisor(0, 0);
      gl.uniformMatrix4fv(face.at.matrix, false, scene.matrix);
      gl.uniform4fv(face.at.tint, tint);
      gl.drawArrays(gl.TRIANGLE_FAN, 0, count);
    },
  };
}

/** A buffer that holds these numbers. */
export function buffer(gl, values) {
  const made = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, made);
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.STATIC_DRAW);
  return made;
}

/** "#rrggbb" to [r, g, b] of 0..1. */
export function rgb(text) {
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16) / 255);
}
