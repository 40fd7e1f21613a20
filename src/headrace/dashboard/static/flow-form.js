// The form of an entry, which the server makes from the schema of documents; a changed field is one operation.
// The server's answer may be older than what the user wrote meanwhile: such values stay, with the focus.
import {mergeChildren} from "./merge.js";

export function startForm(panel, {text, edit, remove, close}) {
  let name = null, requested = "", sequence = 0, ready = Promise.resolve();
  const drafts = new Map();  // by input: a value that the form of the server may not have yet
  const carried = new WeakMap();  // by operation: the drafts that it carries

  async function load(next) {
    const own = ++sequence, applied = [...drafts].filter(([, draft]) => draft.applied);
    const response = await fetch(`/ui/flow/form?name=${encodeURIComponent(next)}`, {
      method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify({document: text()}),
    }).catch(() => null);
    const html = response?.ok ? await response.text() : "";
    if (own !== sequence) return;
    if (!html) { requested = ""; return; }
    for (const [id, draft] of applied) if (drafts.get(id) === draft) drafts.delete(id);
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    if (next === name) redraw(fresh.content);
    else {
      drafts.clear();
      panel.replaceChildren(fresh.content);
    }
    name = next;
    panel.hidden = false;
  }

  function redraw(fresh) {
    const active = panel.contains(document.activeElement) ? document.activeElement : null;
    mergeChildren(panel, fresh, drafts);
    if (active && !active.isConnected) document.getElementById(active.id)?.focus({preventScroll: true});
  }

  function send(field, operation) {
    const inputs = [...field.querySelectorAll("input, select, textarea")].filter(input => !isUnfinished(input));
    const values = inputs.map(input => drafts.get(input.id)).filter(Boolean);
    if (values.every(draft => draft.sent)) return;  // nothing was changed since, such as after Enter
    for (const draft of values) draft.sent = true;
    for (const input of inputs) if (input.closest(".pattern-row") && input.matches("input")) input.defaultValue = input.value;
    carried.set(operation, values);
    edit(operation);
  }

  panel.addEventListener("input", event => { if (event.target.id) drafts.set(event.target.id, {sent: false, applied: false}); });
  panel.addEventListener("change", event => {
    const field = event.target.closest("[data-widget]");
    if (!field) return;
    const {widget} = field.dataset, path = field.dataset.path && JSON.parse(field.dataset.path), value = event.target.value.trim();
    if (path) path[1] = name;  // a renamed entry whose form was not drawn again
    if (widget === "name") send(field, {op: "rename", name, to: value});
    else if (widget === "choice") send(field, {op: "choose", path, key: value, among: JSON.parse(field.dataset.among)});
    else if (widget === "reference") send(field, connect(path, value));
    else send(field, {op: "set", path, ...valueOf(field, widget, value)});
  });
  panel.addEventListener("click", event => {
    if (event.target.closest("[data-close]")) close();
    if (event.target.closest("[data-delete]")) remove();
  });
  panel.addEventListener("keydown", event => {  // Enter sends the field
    if (event.key === "Enter" && event.target.matches("input")) event.target.dispatchEvent(new Event("change", {bubbles: true}));
  });

  const connect = (path, value) => value ? {op: "connect", source: value, target: name, input: path.at(-1)} : {op: "set", path, value: null};

  return {
    show(next) {
      const key = next + "\n" + text();
      if (!next) { sequence += 1; name = null; requested = ""; panel.hidden = true; }
      else if (key !== requested) { requested = key; ready = load(next); }
    },
    answered(operations) {  // the next form that is requested has their values
      for (const draft of operations.flatMap(operation => carried.get(operation) ?? [])) draft.applied = true;
    },
    renamed(from, to) { if (name === from) name = to; },
    forget() { for (const [id, draft] of drafts) if (!draft.sent) drafts.delete(id); },  // the text is edited elsewhere
    async focus(path) {  // the field of a path, else the first field that needs a value
      for (let last; last !== ready;) { last = ready; await last; }
      const fields = [...panel.querySelectorAll(".field[data-path]")];
      const at = path && fields.findLast(field => JSON.parse(field.dataset.path).every((key, index) => key === path[index]));
      const field = at ?? panel.querySelector(".field.bad") ?? fields[0] ?? panel.querySelector(".field");
      field?.closest("details")?.setAttribute("open", "");
      field?.querySelector("input, select, textarea")?.focus();
    },
  };
}

// A row of a pattern that the document does not have, without its condition: it is not sent.
function isUnfinished(input) {
  const condition = input.closest(".pattern-row")?.querySelector("[aria-label^=Condition]");
  return Boolean(condition) && !condition.value.trim() && !condition.defaultValue;
}

function valueOf(field, widget, value) {
  if (widget === "yaml") return value ? {yaml: value} : {};
  if (widget === "pairs") return {value: pairs(field)};
  if (widget === "pattern") return {value: pattern(field)};
  if (!value) return {};
  if (widget === "flag") return {value: value === "true"};
  if (widget === "number" && Number.isFinite(Number(value))) return {value: Number(value)};
  if (widget === "lines") {
    const lines = value.split("\n").map(line => line.trim()).filter(Boolean);
    return {value: lines.length === 1 && !field.dataset.list ? scalar(lines[0]) : lines};
  }
  return {value: scalar(value)};
}

const scalar = value => value === "true" ? true : value === "false" ? false : value;

function pattern(field) {  // the steps of a pattern; a row without a condition is left out
  const rows = [...field.querySelectorAll(".pattern-row")].map(row => [...row.querySelectorAll("input, select")].map(input => input.value.trim()));
  const steps = rows.filter(([, , condition]) => condition).map(([name, verb, condition, repeats], index) => {
    const key = name || `step_${index + 1}`, first = index === 0 ? "where" : verb === "where" ? "followed_by" : verb;
    const times = Number.isInteger(Number(repeats)) && repeats ? {times: Number(repeats)} : repeats ? {[repeats.replaceAll(" ", "_")]: true} : {};
    return {[key]: first === "where" && !repeats ? scalar(condition) : {[first]: scalar(condition), ...times}};
  });
  return steps.length ? steps : null;
}

function pairs(field) {
  const rows = [...field.querySelectorAll(".pair")].map(row => [...row.querySelectorAll("input")].map(input => input.value.trim()));
  const named = rows.filter(([name, value]) => name || value).map(([name, value], index) => [name || `column_${index + 1}`, scalar(value)]);
  return named.length ? Object.fromEntries(named) : null;
}
