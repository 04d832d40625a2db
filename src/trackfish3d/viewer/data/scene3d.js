// The 3D scene: tank, water, cameras, bodies with their headings, trails, and how uncertain each place is.
import * as T from "./three.js";
import { along, find, rowsAt, tracks } from "./chunks.js";
import { colourOf } from "./colours.js";
import { startSkeletons } from "./skeletons.js";
import { $, announce, css, on, state } from "./state.js";

const MOST_BODIES = 4096;
const MOST_POINTS = 200000;

/** A body of length 1 along x, its nose ahead. */
function body() {
  const outline = [[0.001, 0.5], [0.07, 0.38], [0.11, 0.18], [0.1, 0], [0.05, -0.3], [0.015, -0.42], [0.1, -0.5]];
  const shape = new T.LatheGeometry(outline.map(([r, x]) => new T.Vector2(r, x)), 8);
  shape.rotateZ(-Math.PI / 2);
  shape.scale(1, 1, 0.7);
  return shape;
}

function segments(pieces, colour, opacity = 1) {
  const shape = new T.BufferGeometry();
  shape.setAttribute("position", new T.BufferAttribute(new Float32Array(pieces.flat(2)), 3));
  return new T.LineSegments(shape, new T.LineBasicMaterial({ color: colour, transparent: true, opacity }));
}

function box(low, high) {
  const at = (c) => [0, 1, 2].map((k) => ((c >> k) & 1 ? high[k] : low[k]));
  const pieces = [];
  for (let c = 0; c < 8; c++) for (const k of [1, 2, 4]) if (!(c & k)) pieces.push([at(c), at(c | k)]);
  return pieces;
}

function frustum(f) {
  const ring = [1, 2, 3, 4];
  return [...ring.map((k) => [f[0], f[k]]), ...ring.map((k) => [f[k], f[(k % 4) + 1]])];
}

/** Start the scene; returns what picks a track at a place of the canvas. */
export function startScene() {
  const canvas = $("scene");
  let renderer;
  try {
    renderer = new T.WebGLRenderer({ canvas, antialias: true, powerPreference: "high-performance" });
  } catch {
    $("nogl").hidden = false;
    return () => null;
  }
  const { space, bodyLength } = state.meta;
  const scene = new T.Scene();
  const camera = new T.PerspectiveCamera(34, 1, 0.01, 1000);
  camera.up.set(...space.up);
  const controls = new T.OrbitControls(camera, canvas);
  controls.addEventListener("change", () => announce("frame"));
  const middle = new T.Vector3(...space.low).add(new T.Vector3(...space.high)).multiplyScalar(0.5);
  const radius = new T.Vector3(...space.high).sub(new T.Vector3(...space.low)).length() / 2;

  function stand(centre, reach) {
    const mean = new T.Vector3();
    for (const f of space.frustums) mean.add(new T.Vector3(...f[0]).sub(middle).normalize());
    const up = camera.up.clone();
    const level = mean.sub(up.clone().multiplyScalar(mean.dot(up)));
    if (level.length() < 0.1) level.set(up.y, up.z, up.x);
    const from = level.normalize().applyAxisAngle(up, 0.5).add(up.clone().multiplyScalar(0.45)).normalize();
    const far = (reach / Math.sin((camera.fov * Math.PI) / 360)) * Math.max(1, 1.15 / camera.aspect);
    camera.position.copy(centre).add(from.multiplyScalar(far));
    Object.assign(camera, { near: far / 100, far: far * 20 });
    controls.target.copy(centre);
    controls.update();
    camera.updateProjectionMatrix();
    announce("frame");
  }
  const showAnimals = () => stand(middle, 0.95 * radius);
  function showCameras() {
    const corners = space.frustums.flat().map((p) => new T.Vector3(...p));
    stand(middle, Math.max(radius, ...corners.map((p) => p.distanceTo(middle))));
  }
  $("fit").onclick = showAnimals;
  $("rig").onclick = showCameras;

  const sun = new T.DirectionalLight(0xffffff, 2.2);
  sun.position.set(...space.up).multiplyScalar(5 * radius).add(new T.Vector3(radius, 0.4 * radius, 0.2 * radius));
  scene.add(new T.AmbientLight(0xffffff, 1.6), sun);
  const tank = segments(box(space.low, space.high), css("box"), 0.8);
  const rig = segments(space.frustums.flatMap(frustum), css("muted"), 0.9);
  scene.add(tank, rig);
  const waters = space.water.map((polygon) => {
    const shape = new T.BufferGeometry();
    const corners = polygon.slice(2).flatMap((_, k) => [polygon[0], polygon[k + 1], polygon[k + 2]]);
    shape.setAttribute("position", new T.BufferAttribute(new Float32Array(corners.flat()), 3));
    const look = { color: css("water"), transparent: true, opacity: 0.1, side: T.DoubleSide, depthWrite: false };
    return new T.Mesh(shape, new T.MeshBasicMaterial(look));
  });
  for (const w of waters) scene.add(w);

  const bodies = new T.InstancedMesh(body(), new T.MeshLambertMaterial(), MOST_BODIES);
  const look = { transparent: true, opacity: 0.16, depthWrite: false };
  const halos = new T.InstancedMesh(new T.SphereGeometry(1, 12, 8), new T.MeshBasicMaterial(look), MOST_BODIES);
  const rests = new T.InstancedMesh(new T.SphereGeometry(0.16, 10, 8), new T.MeshLambertMaterial(), MOST_BODIES); // no heading known
  bodies.frustumCulled = halos.frustumCulled = rests.frustumCulled = false;
  const skeletons = startSkeletons(scene);
  const trail = new T.BufferGeometry();
  trail.setAttribute("position", new T.BufferAttribute(new Float32Array(3 * MOST_POINTS), 3).setUsage(T.DynamicDrawUsage));
  trail.setAttribute("color", new T.BufferAttribute(new Float32Array(3 * MOST_POINTS), 3).setUsage(T.DynamicDrawUsage));
  const lines = new T.LineSegments(trail, new T.LineBasicMaterial({ vertexColors: true }));
  lines.frustumCulled = false;
  scene.add(bodies, rests, halos, lines);

  const ink = new T.Color();
  const lights = (track) => state.selected === null || state.selected === track || state.other === track;

  /** Colour of a point, pale where others are picked. */
  function shade(chunk, row, ground) {
    ink.set(colourOf(chunk, row));
    return lights(chunk.track[row]) ? ink : ink.lerp(ground, 0.72);
  }
  const [turn, matrix, forward, heading] = [new T.Quaternion(), new T.Matrix4(), new T.Vector3(1, 0, 0), new T.Vector3()];
  let living = [];

  function place() {
    const here = rowsAt(tracks, state.frame);
    living = [];
    let [points, halo, body, rest] = [0, 0, 0, 0];
    const ground = new T.Color(css("view"));
    const posed = skeletons((track) => {
      const at = find(track, state.frame);
      return at ? shade(at.chunk, at.row, ground) : ink.set(css("box"));
    });
    const [position, colour] = [trail.attributes.position.array, trail.attributes.color.array];
    for (let i = here?.a ?? 0; here && i < here.b && living.length < MOST_BODIES; i++) {
      const { chunk } = here;
      const at = new T.Vector3(chunk.x[i], chunk.y[i], chunk.z[i]);
      const track = chunk.track[i];
      const lit = lights(track);
      shade(chunk, i, ground);
      heading.set(...chunk.heading.map((h) => h[i]));
      const size = bodyLength * (state.selected === track || state.other === track ? 1.35 : 1);
      if (!posed.has(track)) {
        const known = !Number.isNaN(heading.x);
        if (known) turn.setFromUnitVectors(forward, heading);
        matrix.compose(at, known ? turn : turn.identity(), new T.Vector3(size, size, size));
        const mesh = known ? bodies : rests;
        mesh.setMatrixAt(known ? body : rest, matrix);
        mesh.setColorAt(known ? body++ : rest++, ink);
      }
      const sigma = 2 * chunk.sigma[i];
      if (sigma > 0.08 * bodyLength && lit) {
        matrix.compose(at, turn.identity(), new T.Vector3(sigma, sigma, sigma));
        halos.setMatrixAt(halo, matrix);
        halos.setColorAt(halo++, ink);
      }
      living.push({ track, at, seen: chunk.flags[i] >= 256 });
      let before = null;
      along(track, state.frame - state.trail, state.frame, (c, r) => {
        const now = [c.x[r], c.y[r], c.z[r], c.frame[r]];
        if (before && points + 2 <= MOST_POINTS) {
          const fade = 0.75 * (1 - (now[3] - state.frame + state.trail) / Math.max(1, state.trail));
          const shade = ink.clone().lerp(ground, Math.min(0.9, fade + (now[3] - before[3] > 1 ? 0.4 : 0)));
          for (const p of [before, now]) {
            position.set(p.slice(0, 3), 3 * points);
            colour.set([shade.r, shade.g, shade.b], 3 * points++);
          }
        }
        before = now;
      });
    }
    state.drawn = here ? state.frame : null;
    state.shown3d = { bodies: body, rests: rest, skeletons: posed.size };
    [bodies.count, rests.count, halos.count] = [body, rest, halo];
    for (const mesh of [bodies, rests, halos]) {
      mesh.instanceMatrix.needsUpdate = true;
      if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    }
    trail.setDrawRange(0, points);
    trail.attributes.position.needsUpdate = trail.attributes.color.needsUpdate = true;
  }

  const screen = (at) => {
    const p = at.clone().project(camera);
    return p.z > 1 ? null : [((p.x + 1) / 2) * canvas.clientWidth, ((1 - p.y) / 2) * canvas.clientHeight];
  };

  function label() {
    const overlay = $("labels");
    const ratio = devicePixelRatio || 1;
    const [w, h] = [overlay.clientWidth, overlay.clientHeight];
    Object.assign(overlay, { width: w * ratio, height: h * ratio });
    const draw = overlay.getContext("2d");
    draw.scale(ratio, ratio);
    const big = parseFloat(getComputedStyle(document.body).fontSize);
    draw.font = `${Math.round(0.85 * big)}px system-ui, 'DejaVu Sans', sans-serif`;
    draw.textBaseline = "middle";
    draw.lineWidth = 3;
    draw.strokeStyle = css("view");
    const write = (text, x, y, colour) => {
      draw.strokeText(text, x, y);
      draw.fillStyle = colour;
      draw.fillText(text, x, y);
    };
    for (const [k, f] of space.frustums.entries()) {
      const p = screen(new T.Vector3(...f[0]));
      if (p) write(state.meta.cameras[k].name, p[0] + 6, p[1], css("muted"));
    }
    if (!state.names) return;
    for (const { track, at } of living) {
      const p = screen(at);
      const chosen = track === state.selected || track === state.other;
      if (p && (state.selected === null || chosen)) write(String(track), p[0] + 8, p[1] - 8, css("ink"));
    }
  }

  function draw() {
    const [w, h] = [canvas.clientWidth, canvas.clientHeight];
    if (!w || !h) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      renderer.setPixelRatio(ratio);
      renderer.setSize(w, h, false);
      camera.aspect = w / h;
      camera.updateProjectionMatrix();
    }
    const began = performance.now();
    place();
    renderer.render(scene, camera);
    state.drawMs = performance.now() - began;
    label();
  }

  function recolour() {
    renderer.setClearColor(css("view"));
    tank.material.color.set(css("box"));
    rig.material.color.set(css("muted"));
    for (const w of waters) w.material.color.set(css("water"));
    announce("frame");
  }
  on("frame", draw);
  on("look", recolour);
  recolour();
  draw();
  showAnimals();
  new ResizeObserver(() => announce("frame")).observe(canvas);
  state.where = (track) => {
    const found = living.find((l) => l.track === track);
    return found ? screen(found.at) : null;
  };
  return (x, y) => {
    let [best, least] = [null, 20];
    for (const { track, at } of living) {
      const p = screen(at);
      const gap = p ? Math.hypot(p[0] - x, p[1] - y) : Infinity;
      if (gap < least) [best, least] = [track, gap];
    }
    return best;
  };
}
