// The parts of every page: theme, keyboard, live numbers, actions on jobs, messages.
import {follow} from "./live.js";

export const $ = id => document.getElementById(id);
export const pageState = $("page-state") ? JSON.parse($("page-state").textContent) : {};
const listeners = {tick: new Set(), theme: new Set(), reopened: new Set(), close: new Set()};
export const on = (event, listener) => listeners[event].add(listener);
const emit = (event, value) => listeners[event].forEach(listener => listener(value));

// messages
export function toast(text, bad = false) {
  const element = document.createElement("div");
  element.className = "toast" + (bad ? " bad" : "");
  element.textContent = text;
  $("toasts").append(element);
  setTimeout(() => element.remove(), bad ? 12000 : 5000);
}

// REST calls, with the API's own checks; an error becomes a message
export async function request(method, url, body) {
  const headers = body === undefined ? {} : {"content-type": "application/json"};
  let response;
  try {
    response = await fetch(url, {method, headers, body: body === undefined ? undefined : JSON.stringify(body)});
  } catch {
    throw new Error("The service does not answer.");
  }
  const text = await response.text();
  const answer = text && response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : {};
  if (!response.ok) {
    const refused = response.status === 401 || response.status === 403 ? "Refused: " : "";
    throw Object.assign(new Error(refused + (typeof answer.detail === "string" ? answer.detail : `HTTP ${response.status}`)), {status: response.status, answer});
  }
  return answer;
}

// live numbers: every element with data-live="path/in/message"
export function show(message, root = document) {
  for (const element of root.querySelectorAll("[data-live]")) {
    const value = element.dataset.live.split("/").reduce((part, key) => part?.[key], message);
    if (value !== undefined) write(element, String(value));
  }
}
export function write(element, text) {  // what is zero or not measured is muted
  if (element.textContent !== text) element.textContent = text;
  element.classList.toggle("nil", text === "0" || text === "–");
}
function addLocalTimes() {  // the absolute time on hover, in UTC and local
  for (const element of document.querySelectorAll("time[datetime]:not([data-local])")) {
    element.dataset.local = "";
    element.title += " · local " + new Date(element.dateTime).toLocaleString();
  }
}
addLocalTimes();
document.addEventListener("htmx:after:swap", addLocalTimes);

// relative times: every element with data-ago, by the clock of the service
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
function age(seconds) {  // as the function of this name in formatting.py
  const at = UNITS.findIndex(([size]) => seconds >= size), [size, unit] = UNITS[at], [part, smaller] = UNITS[at + 1] ?? [1, ""];
  const whole = Math.floor(seconds / size), rest = Math.floor(seconds % size / part);
  return `${whole} ${unit}` + (smaller && whole < 10 && rest ? ` ${rest} ${smaller}` : "");
}
on("tick", ({t}) => document.querySelectorAll("time[data-ago]").forEach(element => {
  write(element, age(Math.max(1, Math.floor(t - Date.parse(element.dateTime) / 1000))) + " ago");
}));

// parts of a page that the stream does not carry: read again when the state changes, some every few seconds
const REREAD = 5000;
let due = Date.now() + REREAD, health;
on("tick", async ({state, warned}) => {
  const before = health;
  health = `${state} ${warned}`;
  const changed = before !== undefined && before !== health;
  const parts = [...document.querySelectorAll(changed ? "[data-reread]" : "[data-reread=always]")];
  if (!parts.length || (!changed && Date.now() < due)) return;
  due = Date.now() + REREAD;
  const response = await fetch(location.href).catch(() => null);
  if (!response?.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const part of parts.filter(each => !each.contains(document.activeElement))) {  // the focus stays
    const next = fresh.getElementById(part.id);
    if (next) part.replaceChildren(...next.childNodes);
  }
  addLocalTimes();
});
const topic = document.body.dataset.topic;
if (topic) {
  follow("/ui/events/" + topic, {
    tick: message => { show(message); emit("tick", message); },
    gone: () => { toast("This job was deleted."); setTimeout(() => location.assign("/"), 1500); },
    reopened: () => emit("reopened"),
    status: (lost, age) => {
      const updated = new Date(Date.now() - 1000 * age).toISOString().slice(11, 19) + " UTC";
      if ($("updated").textContent !== updated) $("updated").textContent = updated;
      const text = lost ? `✕ No data for ${Math.round(age)} s` : "● Live";
      document.body.classList.toggle("lost", lost);
      if ($("live").textContent !== text) $("live").textContent = text;
    },
  });
}

// session
$("logout")?.addEventListener("click", async () => { await request("POST", "/api/v1/logout").catch(() => {}); location.assign("/login"); });

// theme
$("theme").onclick = () => {
  const dark = document.documentElement.classList.toggle("dark");
  localStorage.setItem("theme", dark ? "dark" : "light");
  emit("theme");
};

// keyboard
$("help-button").onclick = () => $("help").showModal();
let prefix = 0;
const GO = {j: "/", a: "/alerts", n: "/new"};
addEventListener("keydown", event => {
  if (event.key === "Escape") {
    document.querySelectorAll("details.menu[open]").forEach(menu => menu.removeAttribute("open"));
    emit("close");
  }
  if (event.target.closest("input, textarea, select, .cm-editor") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && $("search")) { event.preventDefault(); $("search").focus(); }
  else if (event.key === "?") $("help").showModal();
  else if (event.key === "g") { prefix = Date.now(); return; }
  else if (GO[event.key] && Date.now() - prefix < 1500) location.assign(GO[event.key]);
  prefix = 0;
});
document.addEventListener("click", event => {
  document.querySelectorAll("details.menu[open]").forEach(menu => { if (!menu.contains(event.target)) menu.removeAttribute("open"); });
});

// actions
const CONFIRM = {
  drain: "The input that is there now is read, a recording to its end. Then every window fires and closes, and the job ends for good. It cannot be restarted.",
  kill: "The driver process ends at once. A restart processes the current micro-batch again.",
  delete: "The job, its logs and its checkpoint are removed.",
};
const DONE = {scale: "Restarting with other partitions", stop: "Stopping after the current micro-batch", drain: "Draining", kill: "Killed", restart: "Restarting from the checkpoint", clone: "Cloned", delete: "Deleted"};
const absent = steps => steps ? ` Absences that are still pending complete, although their time has not elapsed: ${steps}.` : "";
export function confirmed(title, text, action) {
  const dialog = $("confirm");
  $("confirm-title").textContent = title;
  $("confirm-text").textContent = text;
  $("confirm-yes").textContent = action;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise(resolve => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), {once: true}));
}
export function chosen(dialog) {  // the values of a dialog that are set; null if it is cancelled or empty
  dialog.returnValue = "no";
  dialog.querySelector("form").reset();
  dialog.showModal();
  return new Promise(resolve => dialog.addEventListener("close", () => {
    const inputs = [...dialog.querySelectorAll("input, select")].filter(input => input.value);
    const values = inputs.map(input => [input.name, input.type === "number" ? Number(input.value) : input.value]);
    resolve(dialog.returnValue === "yes" && inputs.length ? Object.fromEntries(values) : null);
  }, {once: true}));
}
document.addEventListener("click", async event => {
  const button = event.target.closest("[data-action]");
  if (!button) return;
  const {job, name, readonly, absences} = button.closest("[data-job]").dataset, verb = button.dataset.action;
  button.closest("details")?.removeAttribute("open");
  if (readonly) { toast("Refused: " + readonly, true); return; }
  if (CONFIRM[verb] && !await confirmed(`${button.textContent} ${name}?`, CONFIRM[verb] + (verb === "drain" ? absent(absences) : ""), button.textContent)) return;
  const body = verb === "scale" ? await chosen($("scale")) : undefined;
  if (body === null) return;
  try {
    const answer = verb === "delete" ? await request("DELETE", `/api/v1/jobs/${job}`) : await request("POST", `/api/v1/jobs/${job}/${verb}`, body);
    toast(`${name}: ${DONE[verb]}`);
    if (verb === "delete") location.assign("/");
    if (verb === "clone") location.assign("/jobs/" + answer.id);
  } catch (error) {
    toast(`${name}: ${error.message}`, true);
  }
});
on("tick", message => {
  if (!message.actions) return;
  document.querySelectorAll("[data-action]").forEach(button => { button.hidden = !message.actions.includes(button.dataset.action); });
  const state = $("state"), banner = $("banner");
  state.className = "tone " + message.severity;
  banner.className = "banner " + message.severity;
  banner.hidden = !message.reason;
});
