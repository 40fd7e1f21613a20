// Runs before the first paint, so that the page never flashes in the wrong theme or view.
{
  const stored = localStorage.getItem("theme");
  const dark = stored ? stored === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.classList.toggle("dark", dark);
  const flow = new URLSearchParams(location.hash.slice(1)).get("view") === "flow" || localStorage.getItem("editor-view") === "tab-flow";
  document.documentElement.classList.toggle("flow-first", flow);  // until the editor has started
}
