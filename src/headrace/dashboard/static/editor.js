// The editor: YAML with the server's check at the line, completion from the schema, a preview of the graph, submit.
// The flow (flow.js) is a second view of the same text.
import {EditorView, keymap, lineNumbers, highlightActiveLine, drawSelection} from "./vendor/codemirror/codemirror-view.js";
import {EditorState} from "./vendor/codemirror/codemirror-state.js";
import {defaultKeymap, history, historyKeymap} from "./vendor/codemirror/codemirror-commands.js";
import {HighlightStyle, indentUnit, syntaxHighlighting} from "./vendor/codemirror/codemirror-language.js";
import {autocompletion, completionKeymap} from "./vendor/codemirror/codemirror-autocomplete.js";
import {linter, lintGutter, lintKeymap} from "./vendor/codemirror/codemirror-lint.js";
import {yaml} from "./vendor/codemirror/codemirror-lang-yaml.js";
import {tags} from "./vendor/codemirror/lezer-highlight.js";
import {startFlow} from "./flow.js";
import {mountGraph} from "./graph.js";
import {goTo, showInputs, startTests} from "./sample-run.js";
import {$, confirmed, pageState, request, toast} from "./shell.js";

let view, graph, flow, valid = false;

const post = (url, text) => fetch(url, {method: "POST", body: text});

const check = linter(async editor => {
  const {doc} = editor.state;
  const response = await post("/ui/check", doc.toString()).catch(() => null);
  if (!response?.ok) {
    $("checked").className = "tone warn";
    $("checked").textContent = response?.status === 403 ? "▲ Not checked: your role may not submit jobs" : "▲ Not checked: the service does not answer";
    return [];
  }
  const result = await response.json();
  if (doc.eq(editor.state.doc)) show(result);
  const mark = severity => problem => {
    const line = doc.line(Math.min(problem.line, doc.lines));
    const from = Math.min(line.from + problem.column - 1, line.to);
    return {from, to: line.to, severity, message: [problem.what, problem.hint].filter(Boolean).join("\n")};
  };
  return [...result.problems.map(mark("error")), ...result.warnings.map(mark("warning"))];
}, {delay: 300});

function show(result) {  // the check of the text as it is now
  list(result);
  preview(result.graph);
  showInputs(result.inputs);
  flow.update(result);
  compare(view.state.doc.toString());
}

function list({problems, warnings}) {
  valid = problems.length === 0;
  $("checked").className = "tone " + (valid ? "ok" : "bad");
  $("checked").textContent = valid ? "✓ Valid" : `✕ ${problems.length} problem${problems.length === 1 ? "" : "s"}`;
  if (!$("submit").title) $("submit").disabled = !valid;
  $("problems").textContent = "";
  for (const [problem, tone] of [...problems.map(each => [each, "bad"]), ...warnings.map(each => [each, "warn"])]) {
    const item = document.createElement("li"), button = document.createElement("button");
    const part = (name, text) => { const span = document.createElement("span"); span.className = name; span.textContent = text; return span; };
    button.type = "button";
    button.append(part("where", `line ${problem.line} ${problem.where}`), document.createElement("br"), part("what " + (tone === "bad" ? "" : "note"), (tone === "bad" ? "✕ " : "▲ ") + problem.what));
    if (problem.hint) button.append(part("hint", problem.hint));
    button.onclick = () => flow.reveal(problem.path) || goTo(view, problem.line, problem.column);
    item.append(button);
    $("problems").append(item);
  }
  if (!$("problems").children.length) { const item = document.createElement("li"); item.textContent = "No problems. Expressions, columns, time and sinks were checked."; $("problems").append(item); }
}

async function compare(text) {  // with the running version; only a document without problems can replace it
  if (!pageState.job) return;
  $("upgrade").disabled = true;
  if (!valid) { $("compare").innerHTML = '<p class="note">Solve the problems first.</p>'; return; }
  const response = await post(`/ui/jobs/${pageState.job}/compare`, text).catch(() => null);
  if (!response?.ok || text !== view.state.doc.toString()) return;
  $("compare").innerHTML = await response.text();
  const verdict = $("compare").querySelector("[data-verdict]")?.dataset.verdict;
  $("upgrade").disabled = !verdict || verdict === "replay" || Boolean($("upgrade").title);
}

let drawn = "";
function preview(plan) {
  $("graph").classList.toggle("stale", !plan);
  const shape = JSON.stringify(plan);
  if (!plan || shape === drawn || !$("graph").clientWidth) return;
  drawn = shape;
  graph?.unmount();
  graph = mountGraph($("graph"), plan);
}

const complete = async context => {
  const word = context.matchBefore(/[\w]*/);
  if (!context.explicit && word.from === word.to) return null;
  const line = context.state.doc.lineAt(context.pos);
  const response = await post(`/ui/complete?line=${line.number}&column=${context.pos - line.from}`, context.state.doc.toString()).catch(() => null);
  return response?.ok ? {from: word.from, options: await response.json(), validFor: /^\w*$/} : null;
};

const highlighting = HighlightStyle.define([
  {tag: tags.definition(tags.propertyName), color: "var(--accent)"},
  {tag: tags.string, color: "var(--ok)"},
  {tag: tags.comment, color: "var(--muted)"},
]);
const theme = EditorView.theme({
  "&": {background: "var(--card)", color: "var(--text)"},
  ".cm-content": {caretColor: "var(--text)"},
  ".cm-gutters": {background: "var(--card)", color: "var(--muted)", borderRight: "1px solid var(--line)"},
  ".cm-activeLine": {background: "color-mix(in srgb, var(--accent) 7%, transparent)"},
  ".cm-activeLineGutter": {background: "none"},
  ".cm-cursor": {borderColor: "var(--text)"},
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {background: "var(--accent-soft) !important"},
  ".cm-tooltip": {background: "var(--card)", color: "var(--text)", border: "1px solid var(--line)", boxShadow: "var(--shadow)"},
  ".cm-tooltip-autocomplete ul li[aria-selected]": {background: "var(--accent)", color: "var(--on-accent)"},
  ".cm-diagnostic": {whiteSpace: "pre-wrap", maxWidth: "60ch"},
  "&.cm-focused": {outline: "2px solid var(--accent)", outlineOffset: "-2px"},
});

view = new EditorView({
  parent: $("editor"),
  state: EditorState.create({
    doc: $("document").value,
    extensions: [
      lineNumbers(), history(), drawSelection(), highlightActiveLine(), indentUnit.of("  "), EditorState.tabSize.of(2), EditorView.lineWrapping,
      yaml(), syntaxHighlighting(highlighting), lintGutter(), check, autocompletion({override: [complete]}),
      keymap.of([...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
      EditorView.contentAttributes.of({"aria-label": "Pipeline as a YAML document"}), theme,
    ],
  }),
});
view.scrollDOM.tabIndex = 0;  // a scrollable region must be reachable by keyboard
window.editor = view;
flow = startFlow(view, show);
startTests(view, written);

async function written() {  // the text with the changes in the form of the flow that are on their way
  await flow.written();
  return view.state.doc.toString();
}

$("upgrade")?.addEventListener("click", async () => {
  const {name} = $("upgrade").dataset;
  if (!await confirmed(`Upgrade ${name}?`, "The job stops gracefully, its state is stored as a savepoint, and it goes on with the new document.", "Upgrade")) return;
  $("upgrade").disabled = true;
  toast(`${name}: Stopping for the upgrade`);
  try {
    const body = {document: await written(), name: pageState.file.replace(/\.ya?ml$/, "")};
    await request("POST", `/api/v1/jobs/${pageState.job}/upgrade`, body);
    location.assign("/jobs/" + pageState.job);
  } catch (error) {
    toast(`${name}: ${error.message}`, true);
    $("upgrade").disabled = false;
  }
});

$("submit-form").addEventListener("submit", async event => {
  event.preventDefault();
  const name = event.target.elements.name?.value.trim();
  $("submit").disabled = true;
  const body = {document: await written(), ...(name ? {name} : {}), ...(pageState.directory ? {directory: pageState.directory} : {})};
  try {
    const job = await request("POST", "/api/v1/jobs", body);
    location.assign("/jobs/" + job.id);
  } catch (error) {
    toast(error.message, true);
  } finally {
    $("submit").disabled = !valid;
  }
});
