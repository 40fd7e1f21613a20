// The pages of one job: graph with the panel of a step, and charts.
import {$, on, pageState as state, show} from "./shell.js";

const REFRESH = 5000;  // charts; the figures on the graph change with every tick
let charts;

if ($("graph") && $("split") && state.graph) {
  const {mountGraph} = await import("./graph.js");
  let message = state.now;
  const panel = $("step");
  const select = async (id, edge) => {
    if (panel.dataset.step !== id || panel.hidden) await open(id);
    if (edge) panel.querySelector(`[data-edge="${CSS.escape(edge)}"]`)?.click();
  };
  const open = async id => {
    const response = await fetch(`/ui/jobs/${state.job}/steps/${encodeURIComponent(id)}`);
    if (!response.ok) return;
    panel.innerHTML = await response.text();
    htmx.process(panel);
    panel.dataset.step = id;
    panel.hidden = false;
    $("split").classList.add("open");
    history.replaceState(null, "", "#step=" + encodeURIComponent(id));
    show(message, panel);
    const {first, last} = panel.querySelector("#chart-step")?.dataset ?? {};
    if (first) charts?.add({id: "step", unit: "rows/s", series: [["in/" + first, "in"], ["out/" + last, "out"]], scale: "linear"});
  };
  const close = () => {
    panel.hidden = true;
    charts?.remove("step");
    $("split").classList.remove("open");
    if (location.hash) history.replaceState(null, "", location.pathname);
  };
  const graph = mountGraph($("graph"), state.graph, {figures: state.now, onSelect: select});
  panel.addEventListener("click", event => {
    if (event.target.closest("[data-close]")) close();
  });
  on("close", close);
  on("tick", next => { message = next; graph.update(next); });
  if (location.hash.startsWith("#step=")) select(decodeURIComponent(location.hash.slice(6)));
} else if ($("split")) {
  on("tick", message => { if (Object.keys(message.nodes).length) location.reload(); });  // the plan is known now
}

document.addEventListener("click", event => {
  const sampled = event.target.closest(".samples [data-edge]");
  sampled?.parentElement.querySelectorAll("[data-edge]").forEach(button => button.setAttribute("aria-pressed", button === sampled));
});

if (state.charts) {
  const {Charts} = await import("./charts.js");
  charts = new Charts(state.charts);
  let seconds = state.range;
  const load = async () => {
    if (document.hidden) return;
    const response = await fetch(`/ui/jobs/${state.job}/history?seconds=${seconds}`).catch(() => null);
    if (response?.ok) charts.load(await response.json());
  };
  document.querySelectorAll("[data-range]").forEach(button => button.addEventListener("click", () => {
    seconds = Number(button.dataset.range);
    document.querySelectorAll("[data-range]").forEach(other => other.setAttribute("aria-pressed", other === button));
    load();
  }));
  const zone = $("zone"), zones = {utc: "UTC", local: "local time"};
  if (zone) {
    const name = () => { zone.textContent = zones[localStorage.getItem("zone") ?? "utc"]; };
    zone.addEventListener("click", () => { localStorage.setItem("zone", localStorage.getItem("zone") === "local" ? "utc" : "local"); name(); charts.draw(true); });
    name();
  }
  on("theme", () => charts.draw(true));
  on("reopened", load);
  setInterval(load, REFRESH);
  load();
}
