// The form of an entry, which the server makes from the schema of documents; a changed field is one operation.
export function startForm(panel, {text, edit, remove, close}) {
  let name = null, requested = "", sequence = 0, ready = Promise.resolve();

  async function load(next) {
    const own = ++sequence;
    const response = await fetch(`/ui/flow/form?name=${encodeURIComponent(next)}`, {
      method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify({document: text()}),
    }).catch(() => null);
    const html = response?.ok ? await response.text() : "";
    if (own !== sequence) return;
    if (!html) { requested = ""; return; }
    const restore = next === name ? remember() : () => {};
    name = next;
    panel.innerHTML = html;
    panel.hidden = false;
    restore();
  }

  function remember() {  // focus, unsent text, folds and scroll position stay when the form is drawn again
    const active = panel.contains(document.activeElement) ? document.activeElement : null;
    const {id, value, selectionStart: start} = active ?? {}, dirty = active && "defaultValue" in active && value !== active.defaultValue;
    const folds = [...panel.querySelectorAll("details[open]")].map(fold => fold.dataset.fold), top = panel.scrollTop;
    return () => {
      folds.forEach(fold => panel.querySelector(`[data-fold="${fold}"]`)?.setAttribute("open", ""));
      panel.scrollTop = top;
      const again = id && document.getElementById(id);
      if (!again) return;
      again.focus({preventScroll: true});
      if (dirty) again.value = value;
      if (start != null && again.setSelectionRange) again.setSelectionRange(start, start);
    };
  }

  panel.addEventListener("change", event => {
    const field = event.target.closest("[data-widget]");
    if (!field) return;
    const {widget} = field.dataset, path = field.dataset.path && JSON.parse(field.dataset.path), value = event.target.value.trim();
    if (widget === "name") edit({op: "rename", name, to: value});
    else if (widget === "choice") edit({op: "choose", path, key: value, among: JSON.parse(field.dataset.among)});
    else if (widget === "reference") connect(path, value);
    else if (widget === "pattern" && !event.target.closest(".pattern-row").querySelector("[aria-label^=Condition]").value.trim() && event.target.value.trim()) return;  // its condition follows
    else edit({op: "set", path, ...valueOf(field, widget, value)});
  });
  panel.addEventListener("click", event => {
    if (event.target.closest("[data-close]")) close();
    if (event.target.closest("[data-delete]")) remove();
  });
  panel.addEventListener("keydown", event => {  // Enter sends the field
    if (event.key === "Enter" && event.target.matches("input")) event.target.dispatchEvent(new Event("change", {bubbles: true}));
  });

  const connect = (path, value) => value ? edit({op: "connect", source: value, target: name, input: path.at(-1)}) : edit({op: "set", path, value: null});

  return {
    show(next) {
      const key = next + "\n" + text();
      if (!next) { sequence += 1; name = null; requested = ""; panel.hidden = true; }
      else if (key !== requested) { requested = key; ready = load(next); }
    },
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
