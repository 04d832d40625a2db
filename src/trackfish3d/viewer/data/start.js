// The start page: a row for each recording.
const answer = await fetch("/api/recordings");
const rows = await answer.json();
const body = document.querySelector("tbody");
const percent = (x) => (x === null ? "–" : (100 * x).toFixed(1));
rows.forEach((r, k) => {
  const row = body.insertRow();
  const link = document.createElement("a");
  link.href = `/?rec=${k}`;
  link.textContent = r.name;
  row.insertCell().append(link);
  const left = r.suspects ? `${r.open} of ${r.suspects}` : "–";
  for (const text of [r.frames, r.cameras, r.tracks, left, r.edits, percent(r.scores), percent(r.idf1)]) {
    const cell = row.insertCell();
    cell.textContent = text;
    cell.className = "number";
  }
  const verdict = row.insertCell();
  verdict.textContent = r.problems.length ? r.problems.join(" ") : r.checked ? "nothing wrong found" : "not checked";
  if (r.problems.length) verdict.className = "alarm";
});
document.querySelector("#facts").textContent = `${rows.length} recordings`;
document.documentElement.dataset.ready = "yes";
