// The canvas of the flow editor: React Flow with a handle for each input and output; dagre lays it out.
import {layout} from "./graph.js";

const h = React.createElement, {useEffect, useRef} = React;
const {ReactFlow: Flow, ReactFlowProvider, Background, Handle, BaseEdge, getBezierPath, useEdgesState, useNodesState, useReactFlow, useUpdateNodeInternals} = window.ReactFlow;
const WIDTH = 176, HEAD = 48, ROW = 20, MAIN = "main", READABLE = 0.7;

const sides = node => node.outputs.filter(Boolean);
const rows = node => Math.max(sides(node).length, node.inputs.length - 1);
const heightOf = node => HEAD + ROW * rows(node) + (rows(node) ? 4 : 0);
const at = index => HEAD + ROW * index + ROW / 2;

// dagre does not know the outputs: the readers of one entry that end there are put in the order of its outputs.
function untangle(flow, place) {
  const positions = new Map(flow.nodes.map(node => [node.id, place(node.id)]));
  const into = id => flow.edges.filter(edge => edge.target === id), ends = id => !flow.edges.some(edge => edge.source === id);
  for (const node of flow.nodes) {
    const rank = edge => node.outputs.indexOf(edge.output);
    const links = flow.edges.filter(edge => edge.source === node.id && ends(edge.target) && into(edge.target).length === 1);
    const spots = links.map(edge => positions.get(edge.target)).sort((one, other) => one.y - other.y);
    links.sort((one, other) => rank(one) - rank(other)).forEach((edge, index) => positions.set(edge.target, spots[index]));
  }
  return id => positions.get(id);
}

function Entry({id, data}) {
  const outputs = sides(data), main = data.outputs.includes("");
  const classes = ["step", "entry-node", "is-" + data.kind, data.problems ? "broken" : ""];
  return h("div", {className: classes.join(" ")},
    data.inputs.map((input, index) => h(Handle, {key: input, id: input, type: "target", position: "left", style: {top: index ? at(index - 1) : HEAD / 2}})),
    main && h(Handle, {id: MAIN, type: "source", position: "right", style: {top: HEAD / 2}}),
    h("b", {title: id}, id),
    h("span", {className: "what", title: data.about}, data.problems ? h("span", {className: "bad"}, `✕ ${data.problems} problem${data.problems === 1 ? "" : "s"}`) : data.verb + (data.tier ? ` · ${data.tier}` : "")),
    data.inputs.slice(1).map((input, index) => h("span", {key: input, className: "port in", style: {top: at(index)}}, input)),
    outputs.map((output, index) => h(React.Fragment, {key: output},
      h("span", {className: "port out", style: {top: at(index)}}, output.replace("_", " ")),
      h(Handle, {id: output, type: "source", position: "right", style: {top: at(index)}}))));
}

function Link(props) {
  const [path] = getBezierPath(props);
  return h(BaseEdge, {id: props.id, path, interactionWidth: 20, className: props.selected ? "chosen" : ""});
}

const nodeTypes = {entry: Entry}, edgeTypes = {link: Link};

const KEPT = "flow-places";  // positions of entries that were moved, by document and name; in this browser
const kept = () => { try { return JSON.parse(localStorage.getItem(KEPT)) ?? {}; } catch { return {}; } };
const placesOf = document => kept()[document] ?? {};
function keep(document, places) {
  const all = {...kept(), [document]: places};
  if (!Object.keys(places).length) delete all[document];
  localStorage.setItem(KEPT, JSON.stringify(Object.fromEntries(Object.entries(all).slice(-50))));
}

function Canvas({flow, selected, handlers, api}) {
  const [nodes, setNodes, onNodesChange] = useNodesState([]), [edges, setEdges, onEdgesChange] = useEdgesState([]);
  const {setViewport} = useReactFlow(), remeasure = useUpdateNodeInternals(), frame = useRef(null), drawn = useRef({wide: 0, high: 0});
  const fit = () => {  // the whole graph if it stays readable, else the selected entry or the left end
    const {wide, high, place, chosen} = drawn.current, {clientWidth: width, clientHeight: height} = frame.current ?? {};
    if (!(wide > 0) || !width) return;
    const whole = Math.min(1, (width - 64) / wide, (height - 64) / high), zoom = Math.max(whole, READABLE);
    const middle = chosen ? place(chosen) : {x: 0, y: high / 2};
    const x = whole === zoom ? (width - wide * zoom) / 2 : Math.max(Math.min(24, width / 2 - (middle.x + WIDTH / 2) * zoom), width - 24 - wide * zoom);
    const y = high * zoom < height ? (height - high * zoom) / 2 : Math.min(24, height / 2 - middle.y * zoom);
    setViewport({x, y, zoom});
  };
  useEffect(() => {
    const {at: dagreAt, wide, high} = layout(flow, {width: WIDTH, gap: 72, heightOf}), laidOut = untangle(flow, dagreAt);
    const moved = placesOf(handlers.document()), place = id => moved[id] ?? laidOut(id);
    setNodes(before => flow.nodes.map(node => ({
      id: node.id, type: "entry", position: place(node.id), data: node, selected: node.id === selected, width: WIDTH, height: heightOf(node),
      measured: before.find(each => each.id === node.id)?.measured, ariaLabel: `${node.id}, ${node.verb}`,
    })));
    setEdges(flow.edges.map(edge => ({
      ...edge, type: "link", data: edge, sourceHandle: edge.output || MAIN, targetHandle: edge.input === "sql" ? "from" : edge.input,
      ariaLabel: `${edge.ref} to ${edge.target}`, interactionWidth: 20,
    })));
    requestAnimationFrame(() => {
      remeasure(flow.nodes.map(node => node.id));
      const {wide: before, high: above} = drawn.current;
      drawn.current = {wide, high, place, chosen: flow.nodes.some(node => node.id === selected) ? selected : null};
      if (before !== wide || above !== high) fit();
    });
  }, [flow]);
  useEffect(() => setNodes(all => all.map(node => node.selected === (node.id === selected) ? node : {...node, selected: node.id === selected})), [selected]);
  api.fit = fit;
  useEffect(() => { const observer = new ResizeObserver(() => fit()); observer.observe(frame.current); return () => observer.disconnect(); }, []);
  const ref = ({source, sourceHandle}) => sourceHandle === MAIN ? source : `${source}.${sourceHandle}`;
  return h("div", {
    className: "canvas-frame", ref: frame,
    onDragOver: event => { event.preventDefault(); event.dataTransfer.dropEffect = "copy"; },
    onDrop: event => drop(event, flow, handlers),
    onKeyDown: event => { const node = event.target.closest(".react-flow__node"); if (node && (event.key === "Enter" || event.key === " ")) handlers.select(node.dataset.id, {keyboard: true}); },
  }, h(Flow, {
    nodes, edges, onNodesChange, onEdgesChange, nodeTypes, edgeTypes, nodesDraggable: true, nodeDragThreshold: 4, deleteKeyCode: null, minZoom: 0.3, maxZoom: 1.5,
    connectionRadius: 40, zoomOnScroll: false, preventScrolling: false, elementsSelectable: true, multiSelectionKeyCode: null, selectionKeyCode: null,
    isValidConnection: ({source, target}) => source !== target,
    onConnect: link => handlers.connect({source: ref(link), target: link.target, input: link.targetHandle}),
    onNodeDragStop: (_, node) => { keep(handlers.document(), {...placesOf(handlers.document()), [node.id]: node.position}); handlers.moved(); },
    onNodeClick: (_, node) => handlers.select(node.id), onPaneClick: () => handlers.select(null),
    onSelectionChange: ({edges: links}) => handlers.selectEdge(links[0]?.data ?? null),
  }, h(Background, {gap: 16, size: 1})));
}

function drop(event, flow, {drop}) {  // on a node: it is read; on an edge: the new entry is put between
  event.preventDefault();
  const item = event.dataTransfer.getData("text/item");
  if (!item) return;
  const node = event.target.closest(".react-flow__node")?.dataset.id, link = event.target.closest(".react-flow__edge")?.dataset.id;
  const edge = flow.edges.find(each => each.id === link), chosen = flow.nodes.find(each => each.id === node);
  if (edge && item.startsWith("steps/") && edge.input !== "sql") drop(item, {source: edge.ref, target: edge.target, input: edge.input});
  else if (chosen && chosen.kind !== "sink" && !item.startsWith("sources/")) drop(item, {source: chosen.outputs.includes("") ? node : `${node}.${chosen.outputs[0]}`});
  else drop(item, {});
}

export function mountCanvas(element, handlers) {
  const root = ReactDOM.createRoot(element), api = {};
  return {
    update(flow, selected) { root.render(h(ReactFlowProvider, null, h(Canvas, {flow, selected, handlers, api}))); },
    fit: () => api.fit(),
    isMoved: () => Object.keys(placesOf(handlers.document())).length > 0,
    arrange: () => keep(handlers.document(), {}),
    rename: (from, to) => { const {[from]: place, ...others} = placesOf(handlers.document()); if (place) keep(handlers.document(), {...others, [to]: place}); },
    focus: id => element.querySelector(`.react-flow__node[data-id="${CSS.escape(id)}"]`)?.focus(),
  };
}
