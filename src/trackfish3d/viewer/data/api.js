// Asking the server.
const which = Number(new URLSearchParams(location.search).get("rec") ?? 0);
const base = `/api/${Number.isInteger(which) ? which : 0}`;
export const windowName = Math.random().toString(36).slice(2, 12);

async function checked(answer) {
  if (answer.ok) return answer;
  let text = `the server answered ${answer.status}`;
  try {
    text = (await answer.json()).error ?? text;
  } catch {
    // not JSON: the number has to do
  }
  throw new Error(text);
}

export const ask = async (what) => (await checked(await fetch(`${base}/${what}`))).json();
export const bytes = async (what) => (await checked(await fetch(`${base}/${what}`))).arrayBuffer();
export const tell = async (what, content) =>
  (await checked(await fetch(`${base}/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) }))).json();

/** A picture of a camera: an ImageBitmap, null where the film has none, undefined where a newer one was asked for. */
export async function picture(camera, frame, width) {
  const sign = frame < 0 ? "&minus" : "";
  const answer = await fetch(`${base}/frame/${camera}/${Math.abs(frame)}?width=${width}&window=${windowName}${sign}`);
  if (answer.status === 204) return null;
  if (answer.status === 409) return undefined;
  await checked(answer);
  if (Number(answer.headers.get("x-frame")) !== frame) throw new Error("the server sent another frame");
  return createImageBitmap(await answer.blob());
}
