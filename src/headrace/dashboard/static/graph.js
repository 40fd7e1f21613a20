// The data-flow graph: dagre lays it out from left to right, React Flow draws it, live figures change in place.
const h = React.createElement;
const {ReactFlow: Flow, Handle, BaseEdge, EdgeLabelRenderer, getBezierPath} = window.ReactFlow;

export function layout(plan, {width, height, gap, extra = 0, heightOf = node => height + (node.stateful ? extra : node.kind === "source" ? extra / 2 : 0)}) {
  const graph = new dagre.graphlib.Graph().setGraph({rankdir: "LR", ranksep: gap, nodesep: gap / 4}).setDefaultEdgeLabel(() => ({}));
  plan.nodes.forEach(node => graph.setNode(node.id, {width, height: heightOf(node)}));
  plan.edges.forEach(edge => graph.setEdge(edge.source, edge.target));
  dagre.layout(graph);
  const at = id => ({x: graph.node(id).x - width / 2, y: graph.node(id).y - graph.node(id).height / 2});
  const {width: wide, height: high} = graph.graph();
  return {at, wide, high};
}

export function mountGraph(element, plan, {figures = null, onSelect = () => {}} = {}) {
  const size = figures ? {width: 196, height: 104, gap: 88, extra: 32} : {width: 136, height: 48, gap: 40, extra: 0};  // a preview is small
  const {at, wide, high} = layout(plan, size);
  const least = figures ? 0.72 : 0.45;  // the smallest readable zoom
  let now = figures;
  const listeners = new Set();
  const subscribe = listener => { listeners.add(listener); return () => listeners.delete(listener); };
  const useFigures = pick => React.useSyncExternalStore(subscribe, () => pick(now));

  const Step = ({id, data}) => {
    const live = useFigures(message => message?.nodes[id]);
    const classes = ["step", "is-" + data.kind, data.stateful ? "stateful" : "", live ? "" : "small", live?.load ? "load-" + live.load : "", live?.balanced === false || live?.failed ? "broken" : ""];
    const ends = live && (data.kind === "sink" ? [live.in || live.out] : [live.in, live.out]).filter(Boolean);
    return h("div", {className: classes.join(" ")},
      data.kind !== "source" && h(Handle, {type: "target", position: "left"}),
      h("b", {title: id}, id),
      h("span", {className: "what", title: data.facts[0]}, what(data)),
      live && (ends.length ? h("span", {className: "flowing"}, ends.join(" → ")) : h("span", {className: "about", title: data.facts[0]}, data.facts[0])),
      live?.rows && h("span", {className: "total", title: "Since the job was submitted"}, live.rows),
      live && data.stateful && live.watermark !== "–" && h("span", {className: "time", title: "The watermark, in UTC"}, "watermark " + live.watermark.replace(/^\d+-/, "").replace(" UTC", "")),
      live && h("span", {className: "notes"}, ...notes(live)),
      live?.busy != null && h("i", {className: "busy", style: {"--busy": live.busy}}),
      data.kind !== "sink" && h(Handle, {type: "source", position: "right"}));
  };
  const Link = props => {
    const {lane} = props.data, [path, x, y] = getBezierPath({...props, sourceY: props.sourceY + lane, targetY: props.targetY + lane});
    const live = useFigures(message => message?.edges[props.id]);
    const hot = live?.pressure ? " hot" : "", moving = live?.label && live.label !== "0/s";
    const transform = `translate(-50%,-50%) translate(${x}px,${y}px)`;
    const label = [props.data.output, live?.label].filter(Boolean).join(" ");
    return h(React.Fragment, null,
      h(BaseEdge, {id: props.id, path, className: (props.data.exchange ? "exchange" : "") + hot}),
      moving && h("path", {d: path, className: "live-flow"}),
      label && h(EdgeLabelRenderer, null, h("div", {className: "edge-label" + hot, "data-edge": props.id, style: {transform}, title: figures && [...props.data.columns, "(click: sample rows)"].join("\n"), onClick: () => figures && onSelect(props.source, props.data.ref)}, hot ? "▲ " + label : label)));
  };
  const nodes = plan.nodes.map(node => ({id: node.id, type: "step", position: at(node.id), data: node, ariaLabel: `${node.id}, ${node.verb}`}));
  const lane = edge => {  // edges between the same nodes are drawn below each other
    const beside = plan.edges.filter(other => other.source === edge.source && other.target === edge.target);
    return 20 * (beside.indexOf(edge) - (beside.length - 1) / 2);
  };
  const edges = plan.edges.map(edge => ({...edge, type: "link", data: {...edge, lane: lane(edge)}, ariaLabel: `${edge.source} to ${edge.target}`, focusable: false}));
  const nodeTypes = {step: Step}, edgeTypes = {link: Link};

  const place = flow => {  // the whole graph if it stays readable, else from its left end
    const zoom = Math.min(1, (element.clientWidth - 32) / wide, (element.clientHeight - 32) / high);
    const readable = Math.max(zoom, least), fits = zoom === readable;
    const x = fits ? (element.clientWidth - wide * zoom) / 2 : 16;
    flow.setViewport({x, y: Math.max(16, (element.clientHeight - high * readable) / 2), zoom: readable});
  };
  const scale = Math.max(least, Math.min(1, (element.clientWidth - 32) / wide));
  element.style.minHeight = Math.min(560, Math.max(figures ? 176 : 96, high * scale + 48)) + "px";
  const onInit = flow => { place(flow); new ResizeObserver(() => place(flow)).observe(element); };
  const root = ReactDOM.createRoot(element);
  root.render(h(Flow, {
    defaultNodes: nodes, defaultEdges: edges, nodeTypes, edgeTypes, onInit, nodesDraggable: false, nodesConnectable: false,
    edgesFocusable: false, deleteKeyCode: null, minZoom: 0.3, maxZoom: 1.5, zoomOnScroll: false, preventScrolling: false,
    onNodeClick: (_, node) => onSelect(node.id), onEdgeClick: (_, edge) => onSelect(edge.source, edge.data.ref), onSelectionChange: ({nodes}) => { if (nodes.length) onSelect(nodes[0].id); },
  }));
  return {
    update(message) { now = message; listeners.forEach(listener => listener()); },
    unmount() { root.unmount(); },
  };
}

function what(data) {  // the connector and its target, or what the step does
  return data.connector ? [data.connector, data.target].filter(Boolean).join(" · ") : data.verb;
}

function notes(live) {
  const bad = [live.failed && "failed", live.balanced === false && "rows lost"].filter(Boolean);
  const skewed = live.skew && parseFloat(live.skew) >= 2 && `skew ${live.skew}`;
  const warn = [skewed, live.late && `${live.late} late`, live.dead_letters && `${live.dead_letters} dead letter${live.dead_letters === 1 ? "" : "s"}`].filter(Boolean);
  if (bad.length) return [h("span", {key: "bad", className: "bad"}, "✕ " + bad.join(", "))];
  const word = {backpressure: "▲ backpressure", busy: "◆ busy", idle: "idle"}[live.load];
  const load = live.busy !== null && h("span", {key: "load", className: "load", title: "The share of the time in which its query processes a batch"}, [word, `${Math.round(live.busy * 100)} %${word ? "" : " busy"}`].filter(Boolean).join(" "));
  const rest = warn.length ? h("span", {key: "warn", className: "warn"}, "▲ " + warn.slice(0, load ? 1 : 2).join(", ")) : live.state && h("span", {key: "state"}, live.state);
  return [load, rest].filter(Boolean);
}
