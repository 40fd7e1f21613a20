// The playground: rows on a time line, a watermark, and the panes that the Python model emits.
const root = document.getElementById("time-line");
const SVG = "http://www.w3.org/2000/svg", LANE = 30, TOP = 26, LEFT = 16, RIGHT = 16;
let play, scenarios, scenario, reader = null, width = 720;

function make(kind, attributes = {}, ...children) {
  const element = kind.startsWith("svg:") ? document.createElementNS(SVG, kind.slice(4)) : document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
const rowsOf = step => step.rows ?? [];
const arrivals = () => scenario.kind === "windows" ? scenario.steps.flatMap(rowsOf) : scenario.rows;
const label = row => row.letter ?? row.v;

function run() {  // through JSON, so that no Python object outlives the call
  const sent = {...scenario};
  if (scenario.kind === "windows" && reader !== null) sent.steps = [...scenario.steps.filter(step => !step.end), {watermark: reader, reader: true}];
  return JSON.parse(play(JSON.stringify(sent)));
}

function scale() {
  const times = arrivals().map(row => row.ts), set = scenario.kind === "windows" ? scenario.steps.map(step => step.watermark ?? 0) : [];
  const size = scenario.kind === "windows" ? Math.min(60, (scenario.spec.window.size ?? scenario.spec.window.gap ?? 10e6) / 1e6) : 4;
  const most = Math.max(20, ...times, ...set, reader ?? 0) + size / 2;
  const x = time => LEFT + time / most * (width - LEFT - RIGHT);
  return {most, x, time: px => Math.max(0, Math.min(most, Math.round((px - LEFT) / (width - LEFT - RIGHT) * most)))};
}

function draw() {
  const focused = document.activeElement?.dataset?.id;
  const result = run(), {most, x, time} = scale();
  const canvas = root.querySelector(".canvas");
  width = Math.max(320, canvas.clientWidth);
  const parts = [], windows = scenario.kind === "windows";
  let y = TOP;
  const step = [1, 2, 5, 10, 20, 60].find(each => most / each * 34 <= width) ?? 60;
  const grid = [];
  for (let t = 0; t <= most; t += step) grid.push(t);
  const rowAt = [];
  const place = (row, lane, mark = {}) => { rowAt.push(row); parts.push(dragged(row, rowAt.length - 1, x(row.ts), lane, time, mark)); };
  const panes = windows ? result.steps.flatMap((each, index) => each.emitted.map(pane => ({...pane, after: index}))) : [];
  const late = panes.filter(pane => pane.output === "late");
  if (windows) {
    scenario.steps.forEach((each, index) => {
      const words = each.advance ? `the clock advances by ${each.advance} s` : each.watermark !== undefined ? `watermark ${each.watermark} s` : each.end ? (reader === null ? "end of the input" : "") : "";
      if (words) parts.push(make("svg:text", {class: "note", x: LEFT, y: y + 16}, words));
      for (const row of rowsOf(each)) {
        const mine = late.find(pane => pane.after === index && pane.v === row.v);
        place(row, y + LANE / 2, {late: mine?.reason.replace("_", " ")});
        if (rowsOf(each).length > 1 && row !== rowsOf(each).at(-1)) y += LANE * 0.8;
      }
      if (rowsOf(each).length || words) y += LANE;
      const mark = result.steps[index].watermark;
      if (mark !== null) parts.push(make("svg:path", {class: "level", d: `M${x(mark)} ${y - LANE}V${y}`}));
    });
  } else {
    for (const row of scenario.rows) place(row, y + LANE / 2);
    y += LANE;
  }
  const watermark = windows ? result.steps.at(-1).watermark : null;
  const ended = windows && reader === null && scenario.steps.some(step => step.end);
  parts.push(make("svg:path", {class: "axis", d: `M${LEFT} ${y}H${width - RIGHT}`}));
  y += 8;
  const shown = windows ? panes.filter(pane => pane.output === "main") : result.matches;
  for (const each of shown) {
    parts.push(windows ? drawPane(each, x, y, most) : drawMatch(each, result.rows, x, y));
    y += LANE;
  }
  if (!shown.length) { parts.push(make("svg:text", {class: "note", x: LEFT, y: y + 16}, windows ? "no pane yet: move the watermark" : "no match")); y += LANE; }
  const lines = grid.map(t => make("svg:g", {}, make("svg:path", {class: "grid", d: `M${x(t)} ${TOP - 6}V${y}`}), make("svg:text", {class: "tick", x: x(t), y: 14}, `${t}`)));
  if (watermark !== null || ended) parts.push(handle(watermark === null ? width - RIGHT : x(watermark), y, time));
  const drawing = make("svg:svg", {viewBox: `0 0 ${width} ${y + 8}`, width, height: y + 8, role: "group", "aria-label": "Time line", ondblclick: event => add(event, time)}, ...lines, ...parts);
  canvas.replaceChildren(drawing);
  root.querySelector(".result").replaceChildren(...table(shown, late, windows, result));
  const slider = root.querySelector("[name=watermark]");
  if (slider) { slider.max = Math.ceil(most * 1.5); slider.value = watermark ?? (ended ? slider.max : 0); slider.nextElementSibling.textContent = watermark === null ? (ended ? "end" : "none") : `${watermark} s`; }
  if (focused) canvas.querySelector(`[data-id="${focused}"]`)?.focus();
}

function dragged(row, id, x, y, time, {late = null} = {}) {
  const move = ts => { row.ts = ts; draw(); };
  const group = make("svg:g", {class: "row" + (late ? " late" : ""), transform: `translate(${x} ${y})`, tabindex: 0, role: "slider", "data-id": id, "aria-label": `row ${label(row)}${late ? ", " + late : ""}`, "aria-valuenow": row.ts, "aria-valuemin": 0, "aria-valuemax": 600, "aria-valuetext": `${row.ts} s`,
    onkeydown: event => { const by = {ArrowLeft: -1, ArrowRight: 1}[event.key]; if (by) { event.preventDefault(); move(Math.max(0, row.ts + by)); } },
    onpointerdown: event => follow(event, px => move(time(px))),
  }, make("svg:circle", {r: 11}), make("svg:text", {y: 4}, String(label(row))), ...(late ? [make("svg:text", {class: "why", x: 16, y: 4}, late)] : []));
  return group;
}

function handle(x, bottom, time) {
  return make("svg:g", {class: "watermark", onpointerdown: event => follow(event, px => { reader = time(px); draw(); })},
    make("svg:path", {class: "hit", d: `M${x} ${TOP}V${bottom}`}), make("svg:path", {d: `M${x} ${TOP - 4}V${bottom}`}), make("svg:text", {x, y: 25, "text-anchor": x > width / 2 ? "end" : "start", dx: x > width / 2 ? -5 : 5}, "watermark"));
}

function follow(event, move) {  // the drawing is replaced while the pointer moves, so the page listens
  event.preventDefault();
  const left = root.querySelector("svg").getBoundingClientRect();
  const at = moved => move((moved.clientX - left.left) * width / left.width);
  const end = () => { removeEventListener("pointermove", at); removeEventListener("pointerup", end); };
  addEventListener("pointermove", at);
  addEventListener("pointerup", end);
}

function drawPane(pane, x, y, most) {
  const from = pane.window.start ?? 0, to = Math.min(most, pane.window.end ?? most), wide = Math.max(26, x(to) - x(from));
  const words = `${pane.pane.retraction ? "− " : ""}${scenario.shows === "highest" ? pane.highest : pane.total} ${pane.pane.timing.replace("_", " ")}`;
  return make("svg:g", {class: "pane " + pane.pane.timing + (pane.pane.retraction ? " retraction" : ""), transform: `translate(${Math.min(x(from), width - 30)} ${y})`}, make("svg:rect", {width: wide, height: LANE - 6, rx: 4}), make("svg:text", {x: 8, y: 16}, words));
}

function drawMatch(match, rows, x, y) {
  const times = match.map(([, at]) => rows[at][0]), first = x(Math.min(...times)), last = x(Math.max(...times));
  return make("svg:g", {class: "pane on_time", transform: `translate(0 ${y})`}, make("svg:rect", {x: first - 11, width: last - first + 22, height: LANE - 6, rx: 4}), ...match.map(([, at]) => make("svg:text", {x: x(rows[at][0]), y: 16, "text-anchor": "middle"}, rows[at][1])));
}

function table(shown, late, windows, result) {
  const seconds = at => at === null ? "∞" : at;
  const rows = windows ? shown.map(pane => [`${pane.after + 1}`, pane.window.start === null ? "all time" : `${seconds(pane.window.start)} to ${seconds(pane.window.end)} s`, pane.vs.join(" "), `${pane.total}`, `${pane.pane.timing.replace("_", " ")}${pane.pane.retraction ? ", retraction" : ""}`])
    : shown.map(match => [match.map(([step, at]) => `${step}: ${result.rows[at][1]} at ${result.rows[at][0]} s`).join(", ")]);
  const heads = windows ? ["Step", "Window", "Rows", "Sum", "Pane"] : ["Match"];
  const head = make("thead", {}, make("tr", {}, ...heads.map(text => make("th", {scope: "col"}, text))));
  const body = make("tbody", {}, ...rows.map(cells => make("tr", {}, ...cells.map(text => make("td", {}, text)))));
  const dropped = late.map(pane => `${pane.v} (${pane.reason.replace("_", " ")})`).join(", ");
  return [make("table", {}, make("caption", {}, windows ? "Panes" : "Matches"), head, body), ...(dropped ? [make("p", {class: "dropped"}, `Late data: ${dropped}`)] : [])];
}

function add(event, time) {
  const at = time((event.clientX - root.querySelector("svg").getBoundingClientRect().left) * width / root.querySelector("svg").clientWidth);
  if (scenario.kind === "windows") scenario.steps.splice(scenario.steps.findLastIndex(step => step.rows) + 1, 0, {rows: [{v: 1, ts: at}]});
  else scenario.rows.push({letter: "s", ts: at});
  draw();
}

function choose(id) {
  scenario = structuredClone(scenarios.find(each => each.id === id) ?? scenarios[0]);
  reader = null;
  const windows = scenario.kind === "windows";
  const declared = windows ? Object.entries(scenario.declared).map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join("\n") : scenario.pattern.map(each => `${each.name}: ${each.verb} ${each.letters}`).join("\n");
  root.querySelector(".declared").textContent = declared.replaceAll('"', "").replaceAll(/([:,])(?=\S)/g, "$1 ");
  root.querySelector("[name=scenario]").value = scenario.id;
  const number = (name, text, value, change) => make("label", {}, text, make("input", {name, type: "number", min: 0, step: 1, value, oninput: event => { change(Number(event.target.value)); draw(); }}));
  const mode = make("select", {name: "mode", onchange: event => { scenario.spec.mode = event.target.value; draw(); }}, ...["accumulating", "discarding", "retracting"].map(each => make("option", windows && scenario.spec.mode === each ? {selected: ""} : {}, each)));
  root.querySelector(".options").replaceChildren(...(windows ? [
    number("out_of_order", "out_of_order (s)", scenario.out_of_order, value => { scenario.out_of_order = value; }),
    number("lateness", "lateness (s)", scenario.spec.lateness / 1e6, value => { scenario.spec.lateness = value * 1e6; }),
    make("label", {}, "mode", mode),
    make("label", {class: "wide"}, "watermark after the last row", make("span", {}, make("input", {name: "watermark", type: "range", min: 0, step: 1, oninput: event => { reader = Number(event.target.value); draw(); }}), make("output", {}))),
  ] : [number("within", "within (s)", scenario.within, value => { scenario.within = value; })]));
  draw();
}

async function load() {
  const status = root.querySelector(".status"), here = new URL(".", import.meta.url);
  const get = async name => {
    const answer = await fetch(new URL(name, here));
    if (!answer.ok) throw new Error(name);
    return answer;
  };
  try {
    scenarios = await (await get("scenarios.json")).json();
    status.textContent = "Starting Python in the browser (13 MB, once) …";
    const {loadPyodide} = await import(new URL("pyodide/pyodide.mjs", here));
    const python = await loadPyodide({indexURL: new URL("pyodide/", here).pathname});
    python.FS.mkdir("model");
    for (const name of ["model/__init__.py", "model/windows.py", "model/patterns.py", "play.py"]) python.FS.writeFile(name, await (await get(name)).text());
    play = python.runPython("import json, sys\nsys.path.insert(0, '')\nimport play\n" +
      "lambda text: json.dumps((play.play_windows if (scenario := json.loads(text))['kind'] == 'windows' else play.play_patterns)(scenario))");
  } catch (error) {
    status.textContent = `The playground cannot start: ${error.message} is missing. Build the site with npm installed: make docs`;
    return;
  }
  root.replaceChildren(
    make("div", {class: "controls"},
      make("label", {class: "wide"}, "Scenario", make("select", {name: "scenario", onchange: event => choose(event.target.value)}, ...scenarios.map(each => make("option", {value: each.id}, each.name)))),
      make("button", {type: "button", onclick: () => choose(scenario.id)}, "Reset")),
    make("pre", {class: "declared", tabindex: 0}), make("div", {class: "options"}), make("div", {class: "canvas"}), make("div", {class: "result"}));
  window.playgroundModel = {run, choose, scenarios};
  const named = decodeURIComponent(location.hash.slice(1));
  root.querySelector("[name=scenario]").value = scenarios.some(each => each.id === named) ? named : scenarios[0].id;
  choose(root.querySelector("[name=scenario]").value);
  new ResizeObserver(() => { if (Math.abs(root.querySelector(".canvas").clientWidth - width) > 8) draw(); }).observe(root);
}
load();
