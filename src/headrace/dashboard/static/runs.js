// The log of an attempt: search and follow.
import {$, pageState as state} from "./shell.js";

const log = $("log"), search = $("search"), follow = $("follow");
let offset = -1, reading = false;

function append(lines) {
  const words = search.value.trim().toLowerCase();
  const fragment = document.createDocumentFragment();
  for (const line of lines) {
    const element = document.createElement("div");
    if (/\b(ERROR|FATAL|Exception|Error:)/.test(line)) element.className = "error";
    else if (/\bWARN(ING)?\b/.test(line)) element.className = "warning";
    const at = words ? line.toLowerCase().indexOf(words) : -1;
    if (at < 0) element.textContent = line || " ";
    else {
      const mark = document.createElement("mark");
      mark.textContent = line.slice(at, at + words.length);
      element.append(line.slice(0, at), mark, line.slice(at + words.length));
    }
    fragment.append(element);
  }
  log.append(fragment);
  while (log.childElementCount > 5000) log.firstChild.remove();
  if (follow.checked) log.scrollTop = log.scrollHeight;
}

async function read() {
  if (reading || document.hidden || !state.attempt) return;
  reading = true;
  const query = new URLSearchParams({attempt: state.attempt, offset, q: search.value.trim()});
  try {
    const response = await fetch(`/ui/jobs/${state.job}/log?${query}`);
    if (response.ok) {
      const part = await response.json();
      if (offset < 0) log.textContent = "";
      offset = part.offset;
      append(part.lines);
    }
  } catch { /* the status line shows the lost connection */ } finally { reading = false; }
}

let timer;
search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => { offset = -1; read(); }, 200); });
follow.addEventListener("change", () => { if (follow.checked) read(); });
setInterval(() => { if (follow.checked) read(); }, 1500);
read();
