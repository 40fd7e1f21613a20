// The test of a document on sample rows: a text of JSON lines for each input, and the result beside the document.
import {setDiagnostics} from "./vendor/codemirror/codemirror-lint.js";
import {$, pageState} from "./shell.js";

const LABELS = {source: "", table: "lookup table", rules: "rules"};
let inputs = [], shown = "";

// The inputs of the document; texts that were written stay while it changes.
export function showInputs(next) {
  if (!next.length || JSON.stringify(next) === shown) return;
  shown = JSON.stringify(next);
  inputs = next;
  const texts = rows(), focused = document.activeElement?.dataset?.input;
  $("inputs").replaceChildren(...next.map(input => field(input, texts[input.name] ?? pageState.rows?.[input.name] ?? "")));
  $("inputs").querySelector(`[data-input="${CSS.escape(focused ?? "")}"]`)?.focus();
  if ($("test").open) fill();
}

function field({name, kind, example}, text) {
  const label = document.createElement("label"), area = document.createElement("textarea");
  const title = document.createElement("span"), note = document.createElement("small");
  title.textContent = name + " ";
  note.textContent = LABELS[kind];
  title.append(note);
  Object.assign(area, {placeholder: example, spellcheck: false, wrap: "off"});
  area.dataset.input = name;
  write(area, text);
  label.append(title, area);
  return label;
}

function write(area, text) {  // as high as its lines, within limits
  area.value = text;
  area.rows = Math.min(8, Math.max(3, text.split("\n").length));
}

const areas = () => [...$("inputs").querySelectorAll("textarea")];
const rows = () => Object.fromEntries(areas().map(area => [area.dataset.input, area.value]));

// Rows of the running job for the sources that have none yet; the driver answers one request at a time.
let filled = false;
async function fill() {
  if (filled || !pageState.running) return;
  filled = true;
  for (const {name} of inputs.filter(input => input.kind === "source")) {
    const area = areas().find(each => each.dataset.input === name);
    if (area.value || !pageState.graph?.nodes.some(node => node.id === name)) continue;
    status("idle", `Reading sample rows of ${name} …`);
    const response = await fetch(`/ui/jobs/${pageState.job}/rows?step=${encodeURIComponent(name)}`).catch(() => null);
    const {lines} = response?.ok ? await response.json() : {};
    if (lines && !area.value && document.activeElement !== area) write(area, lines);  // not while the user types
  }
  status("idle", "");
}

function status(tone, text) {
  $("test-status").className = "tone " + tone;
  $("test-status").textContent = text;
}

export function startTests(view, written) {
  $("test").addEventListener("toggle", () => { if ($("test").open) fill(); });
  $("test-form").addEventListener("submit", async event => {
    event.preventDefault();
    $("test-run").disabled = true;
    status("idle", "Running; Spark takes some seconds to start …");
    const body = {document: await written(), rows: rows(), ...(pageState.directory ? {directory: pageState.directory} : {})};
    const response = await fetch("/ui/test", {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(body)}).catch(() => null);
    $("test-run").disabled = false;
    if (!response?.ok) {
      status("bad", response?.status === 403 ? "✕ Refused: your role may not run documents" : response ? `✕ Failed: HTTP ${response.status}` : "✕ The service does not answer");
      return;
    }
    $("test-result").innerHTML = await response.text();
    const problems = [...$("test-result").querySelectorAll("[data-line]")], count = problems.length;
    status(count ? "bad" : "ok", count ? `✕ ${count} problem${count === 1 ? "" : "s"}` : "✓ Done, nothing was written");
    mark(view, problems.filter(problem => !problem.dataset.input && problem.dataset.located));
  });
  $("test-result").addEventListener("click", event => {
    const button = event.target.closest("[data-line]");
    if (!button) return;
    const line = Number(button.dataset.line), area = areas().find(each => each.dataset.input === button.dataset.input);
    if (area) select(area, line);
    else goTo(view, line, Number(button.dataset.column));
  });
}

function mark(view, problems) {  // in the document, until the next check
  const {doc} = view.state;
  view.dispatch(setDiagnostics(view.state, problems.map(problem => {
    const line = doc.line(Math.min(Number(problem.dataset.line), doc.lines));
    return {from: line.from, to: line.to, severity: "error", message: problem.querySelector(".what").textContent.slice(2)};
  })));
}

function select(area, line) {
  const lines = area.value.split("\n"), from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
}

export function goTo(view, line, column) {
  const place = view.state.doc.line(Math.min(line, view.state.doc.lines));
  view.dispatch({selection: {anchor: Math.min(place.from + column - 1, place.to)}, scrollIntoView: true});
  view.focus();
}
