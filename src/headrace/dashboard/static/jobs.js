// The table of jobs: cells change in place; a new job, or one whose health changes, reloads the rows.
import {$, on, request, toast, write} from "./shell.js";

const cells = row => row.querySelectorAll("[data-cell]");
on("tick", ({jobs, summary}) => {
  if ($("summary")) $("summary").className = "tone " + summary.severity;
  const rows = [...document.querySelectorAll("tr[data-job]")], ids = Object.keys(jobs);
  if (!$("rows")) { if (ids.length) location.reload(); return; }
  for (const row of rows) {
    const job = jobs[row.dataset.job];
    if (!job) { row.remove(); continue; }
    for (const cell of cells(row)) {
      write(cell, job[cell.dataset.cell].split("\n")[0]);
      if (cell.dataset.cell === "reason") cell.title = job.reason;
      if (cell.dataset.cell === "state") cell.className = "tone " + job.severity;
    }
    const path = row.querySelector("[data-path]");
    if (path.getAttribute("d") !== job.recent) path.setAttribute("d", job.recent);
  }
  const changed = ids.some(id => jobs[id].state !== states[id]);
  if (changed) { states = Object.fromEntries(ids.map(id => [id, jobs[id].state])); htmx.trigger(document.querySelector(".filters"), "submit"); }
});
$("start-sample")?.addEventListener("click", async event => {
  event.target.disabled = true;
  try {
    const job = await request("POST", "/api/v1/jobs", {document: $("sample-document").value});
    location.assign("/jobs/" + job.id);
  } catch (error) {
    toast(error.message, true);
    event.target.disabled = false;
  }
});
let states = Object.fromEntries([...document.querySelectorAll("tr[data-job]")].map(row => [row.dataset.job, row.querySelector("[data-cell=state]").textContent]));
