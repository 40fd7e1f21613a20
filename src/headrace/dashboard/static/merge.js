// Update a form to fresh HTML in place: elements, focus, folds and the inputs with a draft stay.
export function mergeChildren(old, fresh, drafts) {
  let at = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const match = matching(at, child);
    if (!match) { old.insertBefore(child, at); continue; }
    while (at !== match) at = removed(at);
    at = match.nextSibling;
    mergeNode(match, child, drafts);
  }
  while (at) at = removed(at);
}

function removed(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

function matching(at, child) {
  if (child.nodeType !== Node.ELEMENT_NODE) return at?.nodeType === child.nodeType ? at : null;
  for (let node = at; node; node = node.nextSibling) {
    if (node.nodeType !== Node.ELEMENT_NODE) continue;
    if (kind(node) === kind(child) && identity(node) === identity(child)) return node;
    if (!identity(child) && identity(node)) return null;  // an element without identity moves past none that has one
  }
  return null;
}

const kind = ({nodeName, dataset, classList}) => [nodeName, dataset.widget, classList[0]].join(" ");
const identity = ({id, dataset, htmlFor}) => id || (dataset.path && option(dataset.path)) || dataset.fold || htmlFor || "";
const option = path => JSON.parse(path).slice(2).join(".");  // without the entry, which may have a new name

function mergeNode(old, fresh, drafts) {
  if (old.nodeType !== Node.ELEMENT_NODE) { old.data = fresh.data; return; }
  for (const {name} of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const {name, value} of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.matches("[role=group]") && [...old.querySelectorAll("[id]")].some(each => drafts.has(each.id))) return;  // rows may have moved
  const held = drafts.has(old.id) ? old.value : null;
  mergeChildren(old, fresh, drafts);
  if (!old.matches("input, select, textarea")) return;
  const value = held ?? fresh.value;
  if (old.value !== value) old.value = value;
}
