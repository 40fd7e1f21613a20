// The log of an attempt: filters and follow. Savepoints by button.
import {$, chosen, confirmed, pageState as state, request, toast} from "./shell.js";

const log = $("log"), filter = $("log-filter"), follow = $("follow");
let offset = -1, reading = false;

function element(kind, name, text) {
  const made = document.createElement(kind);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

function marked(text, words) {  // the text with the first place of the words marked
  const made = element("span", "text"), at = words ? text.toLowerCase().indexOf(words) : -1;
  if (at < 0) made.textContent = text || " ";
  else made.append(text.slice(0, at), element("mark", "", text.slice(at, at + words.length)), text.slice(at + words.length));
  return made;
}

function append(records) {
  const words = filter.elements.search.value.trim().toLowerCase(), fragment = document.createDocumentFragment();
  for (const {at, level, step, epoch, text} of records) {
    const row = element("div", level.toLowerCase() || "output");
    const time = element("time", "", at.replace("T", " ").replace(/(\.\d+)?Z$/, "").slice(11));
    time.title = at;
    row.append(time, element("b", "level", level), element("span", "of", [step, epoch && `epoch ${epoch}`].filter(Boolean).join(" · ")), marked(text, words));
    fragment.append(row);
  }
  log.append(fragment);
  while (log.childElementCount > 3000) log.firstChild.remove();
  if (follow.checked) log.scrollTop = log.scrollHeight;
}

async function read() {
  if (reading || document.hidden || !state.attempt) return;
  reading = true;
  const query = new URLSearchParams({attempt: state.attempt, offset, ...Object.fromEntries(new FormData(filter))});
  try {
    const response = await fetch(`/ui/jobs/${state.job}/log?${query}`);
    if (response.ok) {
      const part = await response.json();
      if (offset < 0) log.textContent = "";
      offset = part.offset;
      append(part.records);
      if (!log.childElementCount) log.append(element("p", "note", "No record matches."));
      else if (part.records.length) log.querySelector("p")?.remove();
    }
  } catch { /* the status line shows the lost connection */ } finally { reading = false; }
}

if (log) {
  let timer;
  filter.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => { offset = -1; read(); }, 200); });
  filter.addEventListener("submit", event => event.preventDefault());
  follow.addEventListener("change", () => { if (follow.checked) read(); });
  setInterval(() => { if (follow.checked) read(); }, 1500);
  read();
}

const attempt = async (done, ...call) => {
  try { await request(...call); toast(done); } catch (error) { toast(error.message, true); }
};
document.addEventListener("click", async event => {
  const restored = event.target.closest("[data-restore]")?.dataset.restore;
  if (restored && await confirmed(`Restore ${restored}?`, "The job stops, its state is replaced by that of the savepoint, and it starts from there. Rows that sinks received since then are written again.", "Restore")) {
    attempt(`Restoring ${restored}`, "POST", `/api/v1/jobs/${state.job}/restore`, {name: restored});
  }
  if (event.target.closest("#add-savepoint")) {
    const body = await chosen($("savepoint"));
    if (body) attempt(`Creating ${body.name}`, "POST", `/api/v1/jobs/${state.job}/savepoint`, body);
  }
});
