// The data-flow graph: dagre lays it out from left to right, React Flow draws it, live figures change in place.
const h = React.createElement;
const {ReactFlow: Flow, Handle, BaseEdge, EdgeLabelRenderer, getBezierPath} = window.ReactFlow;

function layout(plan, {width, height}) {
  const graph = new dagre.graphlib.Graph().setGraph({rankdir: "LR", ranksep: 96, nodesep: 20}).setDefaultEdgeLabel(() => ({}));
  plan.nodes.forEach(node => graph.setNode(node.id, {width, height}));
  plan.edges.forEach(edge => graph.setEdge(edge.source, edge.target));
  dagre.layout(graph);
  const at = id => ({x: graph.node(id).x - width / 2, y: graph.node(id).y - height / 2});
  const {width: wide, height: high} = graph.graph();
  return {at, wide, high};
}

export function mountGraph(element, plan, {figures = null, onSelect = () => {}} = {}) {
  const size = {width: 184, height: figures ? 88 : 56};
  const {at, wide, high} = layout(plan, size);
  const least = figures ? 0.72 : 0.45;  // the smallest readable zoom
  let now = figures;
  const listeners = new Set();
  const subscribe = listener => { listeners.add(listener); return () => listeners.delete(listener); };
  const useFigures = pick => React.useSyncExternalStore(subscribe, () => pick(now));

  const Step = ({id, data}) => {
    const live = useFigures(message => message?.nodes[id]);
    const classes = ["step", "is-" + data.kind, live ? "" : "small", live?.pressure ? "pressed" : "", live?.balanced === false || live?.failed ? "broken" : ""];
    const ends = live && (data.kind === "sink" ? [live.in === "–" ? live.out : live.in] : [live.in, live.out]).filter(rate => rate !== "–");
    return h("div", {className: classes.join(" ")},
      data.kind !== "source" && h(Handle, {type: "target", position: "left"}),
      h("b", {title: id}, id),
      h("span", {className: "what"}, `${data.verb} · ${data.tier}`),
      live && (ends.length ? h("span", {className: "flowing"}, ends.join(" → ")) : h("span", {className: "about", title: data.facts[0]}, data.facts[0])),
      live && h("span", {className: "notes"}, ...notes(live)),
      live?.busy != null && h("i", {className: "busy", style: {"--busy": live.busy}}),
      data.kind !== "sink" && h(Handle, {type: "source", position: "right"}));
  };
  const Link = props => {
    const [path, x, y] = getBezierPath(props);
    const live = useFigures(message => message?.edges[props.id]);
    const hot = live?.pressure ? " hot" : "", moving = live?.label && live.label !== "0/s";
    const transform = `translate(-50%,-50%) translate(${x}px,${y}px)`;
    const label = [props.data.output, live?.label].filter(Boolean).join(" ");
    return h(React.Fragment, null,
      h(BaseEdge, {id: props.id, path, className: (props.data.exchange ? "exchange" : "") + hot}),
      moving && h("path", {d: path, className: "live-flow"}),
      label && h(EdgeLabelRenderer, null, h("div", {className: "edge-label" + hot, "data-edge": props.id, style: {transform}, title: figures && "Sample rows", onClick: () => figures && onSelect(props.source, props.data.ref)}, hot ? "▲ " + label : label)));
  };
  const nodes = plan.nodes.map(node => ({id: node.id, type: "step", position: at(node.id), data: node, ariaLabel: `${node.id}, ${node.verb}`}));
  const edges = plan.edges.map(edge => ({...edge, type: "link", data: edge, ariaLabel: `${edge.source} to ${edge.target}`, focusable: false}));
  const nodeTypes = {step: Step}, edgeTypes = {link: Link};

  const place = flow => {  // the whole graph if it stays readable, else from its left end
    const zoom = Math.min(1, (element.clientWidth - 32) / wide, (element.clientHeight - 32) / high);
    const readable = Math.max(zoom, least), fits = zoom === readable;
    const x = fits ? (element.clientWidth - wide * zoom) / 2 : 16;
    flow.setViewport({x, y: Math.max(16, (element.clientHeight - high * readable) / 2), zoom: readable});
  };
  if (figures) element.style.minHeight = Math.min(560, Math.max(176, high * Math.max(least, Math.min(1, (element.clientWidth - 32) / wide)) + 48)) + "px";
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

function notes(live) {
  const notes = [];
  if (live.failed) notes.push(h("span", {key: "f", className: "bad"}, "✕ failed"));
  if (live.balanced === false) notes.push(h("span", {key: "b", className: "warn"}, "✕ rows lost"));
  if (live.pressure) notes.push(h("span", {key: "p", className: "warn"}, "▲ backpressure"));
  if (live.late) notes.push(h("span", {key: "l", className: "warn"}, `▲ ${live.late} late`));
  if (live.dead_letters) notes.push(h("span", {key: "d", className: "warn"}, `▲ ${live.dead_letters} dead letters`));
  if (notes.length) return notes.slice(0, 2);
  if (live.busy !== null) notes.push(h("span", {key: "u"}, `${Math.round(live.busy * 100)} % busy`));
  if (live.state) notes.push(h("span", {key: "s"}, live.state));
  return notes;
}
