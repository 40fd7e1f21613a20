// The flow editor: a second view of the document. The text stays the source: every edit is an operation that the
// server applies to it, so undo and redo are those of the text.
import {isolateHistory, redo, redoDepth, undo, undoDepth} from "./vendor/codemirror/codemirror-commands.js";
import {mountCanvas} from "./flow-canvas.js";
import {startForm} from "./flow-form.js";
import {startPalette} from "./flow-palette.js";
import {$, on, pageState, request} from "./shell.js";

const STORED = "editor-view", address = new URLSearchParams(location.hash.slice(1));
let view, show, canvas, form, flow = {nodes: [], edges: []}, selected = null, edge = null, isFormOpen = true, checked = false;

const text = () => view.state.doc.toString();
const isOpen = () => !$("flow").hidden;

export function startFlow(editor, showResult) {
  view = editor;
  show = showResult;
  form = startForm($("entry"), {text, edit, remove: removeSelection, close});
  startPalette($("palette"), add);
  startTabs();
  startTools();
  on("close", () => { if (selected && isOpen()) { canvas.focus(selected); close(); } });
  return {update, reveal, written: () => queue};
}

// Apply operations to the text, one request after the other.
let queue = Promise.resolve();
const waiting = [];
function edit(...operations) {
  waiting.push(operations);
  queue = queue.then(() => { waiting.shift(); return send(operations); });
  return queue;
}

async function send(operations) {
  const before = text();
  let answer;
  try {
    answer = await request("POST", "/ui/flow/edit", {document: before, operations});
  } catch (error) {
    status("bad", "✕ " + error.message);
    form.answered(operations);
    return null;
  }
  if (text() !== before) return send(operations);  // the text was edited meanwhile
  status("idle", "");
  form.answered(operations);
  for (const {op, name, to} of operations) if (op === "rename") rename(name, to);
  if (answer.name && operations.at(-1).op === "add") [selected, isFormOpen] = [answer.name, true];
  replaceText(answer.document);
  show(answer.checked);
  return answer;
}

function rename(from, to) {  // in what is shown, and in the operations that wait
  canvas?.rename(from, to);
  form.renamed(from, to);
  if (selected === from) selected = to;
  for (const operation of waiting.flat()) {
    for (const key of ["name", "source", "target"]) {
      if (operation[key]?.split(".")[0] === from) operation[key] = to + operation[key].slice(from.length);
    }
    if (operation.path?.[1] === from) operation.path[1] = to;
  }
}

function replaceText(next) {  // the changed characters only: the cursor and other marks stay
  const now = text();
  let start = 0, end = 0;
  while (start < now.length && now[start] === next[start]) start += 1;
  while (end < Math.min(now.length, next.length) - start && now.at(-1 - end) === next.at(-1 - end)) end += 1;
  view.dispatch({
    changes: {from: start, to: now.length - end, insert: next.slice(start, next.length - end)},
    annotations: isolateHistory.of("full"), userEvent: "input.flow",
  });
}

async function add(item, {source, target, input} = {}) {
  const chosen = flow.nodes.find(node => node.id === selected);
  const from = source ?? (chosen && chosen.kind !== "sink" && !item.startsWith("sources/") ? firstOutput(chosen) : "");
  const answer = await edit({op: "add", item, source: from, ...(target ? {target, input} : {})});
  if (answer) await form.focus();
}

function firstOutput({id, outputs}) {  // the rows of the step, or of its first route
  return outputs.includes("") || !outputs.length ? id : `${id}.${outputs[0]}`;
}

// The result of the check of the text: of an edit here, or in the document.
function update(result) {
  $("flow").classList.toggle("stale", !result.flow);
  if (!result.flow) { status("bad", "✕ The document is not YAML: correct it under Document"); return; }
  flow = result.flow;
  if (!checked) selected = address.get("entry");
  checked = true;
  if (!flow.nodes.some(node => node.id === selected)) selected = null;
  draw();
}

function draw() {
  if (!isOpen()) return;
  canvas ??= mountCanvas($("flow-graph"), {
    select, connect: link => edit({op: "connect", ...link}), drop: add,
    document: () => pageState.job ?? "new", moved: () => tools(),
    selectEdge: next => { edge = next; tools(); },
  });
  $("flow-empty").hidden = !checked || flow.nodes.length > 0;
  canvas.update(flow, selected);
  form.show(isFormOpen ? selected : null);
  tools();
}

function select(id, {keyboard = false} = {}) {
  if (id !== selected || !isFormOpen) {
    [selected, isFormOpen] = [id, true];
    draw();
  }
  if (id && keyboard) form.focus();
}

function close() {  // the entry stays selected: the next one that is added reads it
  isFormOpen = false;
  draw();
}

function reveal(path) {  // the field of a problem; false if the document is shown
  if (!isOpen() || path.length < 2) return false;
  select(path[1]);
  form.focus(path);
  return true;
}

function removeSelection() {
  if (selected) edit({op: "remove", name: selected});
  else if (edge) edit({op: "disconnect", source: edge.ref, target: edge.target, input: edge.input});
}

function status(tone, message) {
  $("flow-status").className = `tone push wrap ${tone}`;
  $("flow-status").textContent = message;
}

// Document or flow; the choice is kept. An address with #view=flow&entry=totals opens the form of an entry.
function startTabs() {
  const tabs = [$("tab-document"), $("tab-flow")];
  const open = (tab, focus = false) => {
    tabs.forEach(each => {
      each.setAttribute("aria-selected", each === tab);
      each.tabIndex = each === tab ? 0 : -1;
      $(each.getAttribute("aria-controls")).hidden = each !== tab;
    });
    $("edit").classList.toggle("flowing", isOpen());
    document.documentElement.classList.remove("flow-first");
    form.forget();
    if (focus) tab.focus();
    view.requestMeasure();
    draw();
  };
  tabs.forEach((tab, index) => {
    tab.onclick = () => { localStorage.setItem(STORED, tab.id); open(tab); };
    tab.onkeydown = event => { if (event.key.startsWith("Arrow") && !tabs[1].disabled) { tabs[1 - index].click(); tabs[1 - index].focus(); } };
  });
  const preferred = address.get("view") === "flow" || localStorage.getItem(STORED) === "tab-flow";
  open(preferred && !tabs[1].disabled ? tabs[1] : tabs[0]);
}

const history = command => { form.forget(); command(view); };

function startTools() {
  const actions = {undo: () => history(undo), redo: () => history(redo), delete: removeSelection, fit: () => canvas.fit(), arrange};
  $("flow").addEventListener("click", event => {
    const action = event.target.closest("[data-flow]")?.dataset.flow, starter = event.target.closest("[data-starter]")?.dataset.starter;
    if (action) actions[action]();
    if (starter === undefined) return;
    event.target.closest("details")?.removeAttribute("open");
    selected = null;
    replaceText(document.querySelector(`[data-starter-text="${starter}"]`)?.value ?? "");
    $("search").focus();
  });
  $("flow").addEventListener("keydown", event => {
    if (event.target.closest("input, textarea, select")) return;
    const key = event.key.toLowerCase(), control = event.ctrlKey || event.metaKey;
    if (event.key === "Delete" || event.key === "Backspace") removeSelection();
    else if (control && (key === "y" || (key === "z" && event.shiftKey))) history(redo);
    else if (control && key === "z") history(undo);
    else return;
    event.preventDefault();
  });
}

function arrange() {  // the layout by itself again
  canvas.arrange();
  flow = {...flow};
  draw();
}

function tools() {
  const button = name => $("flow").querySelector(`[data-flow=${name}]`);
  button("undo").disabled = !undoDepth(view.state);
  button("redo").disabled = !redoDepth(view.state);
  button("arrange").disabled = !canvas?.isMoved();
  button("delete").disabled = !selected && !edge;
}
