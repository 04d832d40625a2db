// Bodies with parts in the 3D scene: a ball for each part, a rod for each pair that is joined.
import * as T from "./three.js";
import { poses, rowsAt } from "./chunks.js";
import { state } from "./state.js";

const MOST = 8192; // balls, and rods

/** Add skeletons to a scene; returns what places them and says which tracks it drew: draw(colour of a track). */
export function startSkeletons(scene) {
  const { skeleton } = state.meta;
  if (!skeleton) return () => new Set();
  const balls = new T.InstancedMesh(new T.SphereGeometry(1, 8, 6), new T.MeshLambertMaterial(), MOST);
  const rods = new T.InstancedMesh(new T.LatheGeometry([new T.Vector2(1, -0.5), new T.Vector2(1, 0.5)], 6), new T.MeshLambertMaterial(), MOST);
  balls.frustumCulled = rods.frustumCulled = false;
  scene.add(balls, rods);
  const [matrix, turn, still, up, size] = [new T.Matrix4(), new T.Quaternion(), new T.Quaternion(), new T.Vector3(0, 1, 0), new T.Vector3()];

  return (ink) => {
    const drawn = new Set();
    const here = state.parts ? rowsAt(poses, state.frame) : null;
    let [ball, rod] = [0, 0];
    for (let i = here?.a ?? 0; here && i < here.b; i++) {
      const places = here.chunk.parts.map((p) => (Number.isNaN(p.x[i]) ? null : new T.Vector3(p.x[i], p.y[i], p.z[i])));
      const known = places.filter(Boolean);
      if (known.length < 2) continue;
      const thick = 0.02 * Math.max(...known.map((p) => p.distanceTo(known[0])), ...known.map((p) => p.distanceTo(known.at(-1))));
      const colour = ink(here.chunk.track[i]);
      drawn.add(here.chunk.track[i]);
      places.forEach((p, k) => {
        if (!p || ball >= MOST) return;
        size.setScalar(thick * (here.chunk.parts[k].seen[i] ? 1.9 : 1.2)); // smaller where only the body tells
        balls.setMatrixAt(ball, matrix.compose(p, still, size));
        balls.setColorAt(ball++, colour);
      });
      for (const [a, b] of skeleton.edges) {
        if (!places[a] || !places[b] || rod >= MOST) continue;
        const way = places[b].clone().sub(places[a]);
        const long = way.length();
        if (!long) continue;
        turn.setFromUnitVectors(up, way.divideScalar(long));
        rods.setMatrixAt(rod, matrix.compose(places[a].clone().addScaledVector(way, long / 2), turn, size.set(thick, long, thick)));
        rods.setColorAt(rod++, colour);
      }
    }
    [balls.count, rods.count] = [ball, rod];
    for (const mesh of [balls, rods]) {
      mesh.instanceMatrix.needsUpdate = true;
      if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    }
    return drawn;
  };
}
