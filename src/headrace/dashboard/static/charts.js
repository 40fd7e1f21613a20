// Charts over one time range with a shared crosshair. Direct labels at the right end replace legends.
const HEIGHT = 160;
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const short = value => {
  for (const [size, unit] of [[1e9, " G"], [1e6, " M"], [1e3, " k"]]) if (Math.abs(value) >= size) return +(value / size).toPrecision(3) + unit;
  return String(+value.toPrecision(3));
};
const lasting = seconds => {
  if (seconds <= 0) return "0";
  for (const [size, unit] of [[86400, " d"], [3600, " h"], [60, " min"], [1, " s"]]) if (seconds >= (size === 1 || seconds % size === 0 ? size : 2 * size)) return +(seconds / size).toPrecision(3) + unit;
  return +(seconds * 1000).toPrecision(3) + " ms";
};
const FORMATS = {ms: value => lasting(value / 1000), s: lasting, B: value => short(value).replace(/(?: (.))?$/, " $1B")};
const format = (chart, value) => (FORMATS[chart.unit] ?? short)(value);
const WHOLE = Array.from({length: 36}, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3));  // steps of the y axis
const TIMES = [...[1, 2, 5, 10, 20, 50, 100, 200, 500].map(ms => ms / 1000), 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, ...WHOLE.slice(0, 15).map(days => 86400 * days)];
const STEPS = {ms: TIMES.map(seconds => seconds * 1000), s: TIMES, rows: WHOLE, records: WHOLE};
const MOST_SERIES = 6;
const isLocal = () => localStorage.getItem("zone") === "local";
const clock = (seconds, from = 11, to = 19) => {
  const shift = isLocal() ? new Date(seconds * 1000).getTimezoneOffset() * 60 : 0;
  return new Date((seconds - shift) * 1000).toISOString().slice(from, to).replace("T", " ");
};
const ticks = (times, span) => times.map(time => span > 86400 ? clock(time, 5, 16) : clock(time, 11, times.every(each => each % 60 === 0) ? 16 : 19));

export class Charts {
  constructor(charts) {
    this.charts = charts.map(chart => ({...chart, element: document.getElementById("chart-" + chart.id)}));
    this.columns = {t: []};
    this.marks = [];
    new ResizeObserver(() => this.charts.forEach(chart => chart.plot?.setSize({width: chart.element.clientWidth, height: HEIGHT})))
      .observe(document.querySelector(".charts"));
  }

  add(chart) {
    this.remove(chart.id);
    this.charts.push({...chart, element: document.getElementById("chart-" + chart.id)});
    this.draw();
  }

  remove(id) {
    this.charts = this.charts.filter(chart => { if (chart.id === id) chart.plot?.destroy(); return chart.id !== id; });
  }

  load({columns, marks}) {
    this.columns = columns;
    this.marks = marks;
    this.draw();
  }

  draw(anew = false) {  // a new plot, for another theme, or new values in the old one, which keeps its crosshair
    this.charts.forEach(chart => { chart.shown = this.series(chart); });
    this.nameUnmeasured();
    for (const chart of this.charts) {
      const shown = this.series(chart), layout = `${this.margin(chart)} ${shown}`, same = layout === chart.layout;
      Object.assign(chart, {shown, layout});
      if (chart.plot && same && !anew && this.measured(chart) && !this.replaced(chart)) { chart.plot.setData(this.data(chart)); continue; }
      chart.plot?.destroy();
      chart.element.textContent = "";
      chart.plot = null;
      chart.element.parentElement.hidden = !this.measured(chart) || this.replaced(chart);
      if (!chart.element.parentElement.hidden) chart.plot = new uPlot(this.options(chart), this.data(chart), chart.element);
    }
  }

  nameUnmeasured() {  // one line in place of empty charts
    const missing = this.charts.filter(chart => chart.id !== "step" && !this.measured(chart) && !this.replacement(chart));
    const all = missing.length && this.charts.every(chart => !this.measured(chart));
    const note = document.getElementById("unmeasured");
    note.hidden = !missing.length;
    note.textContent = all ? "No measurements in this time range" : `Not measured in this time range: ${missing.map(chart => chart.title.toLowerCase()).join(", ")}`;
  }

  series(chart) {  // those of the chart, and the highest of the columns with its prefix
    const most = name => Math.max(...this.columns[name].map(value => value ?? 0));
    const others = chart.prefix ? Object.keys(this.columns).filter(name => name.startsWith(chart.prefix) && most(name) > 0) : [];
    others.sort((a, b) => most(b) - most(a));
    return [...chart.series, ...others.slice(0, MOST_SERIES - chart.series.length).map(name => [name, chart.words?.[name.slice(chart.prefix.length)] ?? name.slice(chart.prefix.length)])];
  }

  replacement(chart) {  // the chart in place of one without values, or of which this one takes the place
    return this.charts.find(each => each.id === chart.instead_of || each.instead_of === chart.id);
  }

  replaced(chart) {
    return Boolean(chart.instead_of) && this.measured(this.replacement(chart));
  }

  measured(chart) {
    return this.columns.t.length > 1 && chart.shown.some(([column]) => this.columns[column]?.some(value => value !== null));
  }

  data(chart) {
    const missing = this.columns.t.map(() => null);
    return [this.columns.t, ...chart.shown.map(([column]) => (this.columns[column] ?? missing).map(value => chart.scale === "log" && value <= 0 ? null : value))];
  }

  options(chart) {
    const axis = {stroke: css("--muted"), grid: {stroke: css("--line"), width: 1}, ticks: {show: false}, font: "11px system-ui"};
    const scale = chart.scale === "log" ? {distr: 3} : {range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1]};
    return {
      width: chart.element.clientWidth, height: HEIGHT, padding: [10, this.margin(chart), 0, 0], legend: {show: false},
      cursor: {sync: {key: "job"}, y: false, points: {size: 6}}, scales: {y: scale},
      axes: [
        {...axis, space: 60, size: 26, values: (_, values) => ticks(values, this.columns.t.at(-1) - this.columns.t[0])},
        {...axis, size: 54, ...(chart.scale === "log" ? {grid: {...axis.grid, filter: onlyLabelled}, filter: onlyLabelled} : {}), ...(STEPS[chart.unit] && chart.scale !== "log" ? {incrs: STEPS[chart.unit]} : {}), values: (_, values) => values.map(value => value === null ? "" : format(chart, value))},
      ],
      series: [{}, ...chart.shown.map(([, label], index) => ({label, stroke: css("--s" + (index + 1)), width: 1.5, points: {show: false}, spanGaps: false}))],
      hooks: {draw: [plot => this.drawMarks(plot), drawLabels], setCursor: [plot => showValues(plot, chart)]},
    };
  }

  margin(chart) {  // room for the labels at the right, the same for all charts of a column
    const left = each => each.element.getBoundingClientRect().left;
    const charts = this.charts.filter(each => each === chart || (each.id !== "step" && chart.id !== "step" && !each.element.parentElement.hidden && left(each) === left(chart)));
    return 16 + 7 * Math.max(4, ...charts.flatMap(each => this.series(each)).map(([, label]) => label.length));
  }

  drawMarks(plot) {
    const {ctx, bbox} = plot, ratio = devicePixelRatio;
    let labelled = -Infinity;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css("--warn");
    ctx.font = `${10 * ratio}px system-ui`;
    ctx.setLineDash([4, 4]);
    for (const [time, label] of [...this.marks].sort((a, b) => a[0] - b[0])) {
      const x = plot.valToPos(time, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
      if (x < labelled) continue;
      ctx.fillText(label, x + 4 * ratio, bbox.top + 8 * ratio);
      labelled = x + 4 * ratio + ctx.measureText(label).width;
    }
    ctx.restore();
  }
}

function onlyLabelled(plot, values) {  // of a logarithmic axis: powers of ten, and 2 and 5 in a narrow range
  const {min, max} = plot.scales.y, digits = max / min < 120 ? [1, 2, 5] : [1];
  return values.map(value => digits.includes(Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9))) ? value : null);
}

function drawLabels(plot) {  // at the last value of each series, pushed apart
  const ratio = devicePixelRatio, bottom = plot.bbox.top + plot.bbox.height;
  const ends = plot.series.slice(1).flatMap((series, index) => {
    const at = plot.data[index + 1].findLastIndex(value => value !== null && value !== undefined);
    return at < 0 ? [] : [{series, x: plot.valToPos(plot.data[0][at], "x", true), y: plot.valToPos(plot.data[index + 1][at], "y", true)}];
  }).reverse().sort((a, b) => a.y - b.y);
  const gap = 12 * ratio;
  ends.forEach((end, index) => { end.y = Math.max(end.y + 4 * ratio, index ? ends[index - 1].y + gap : 0); });
  ends.reverse().forEach((end, index) => { end.y = Math.min(end.y, index ? ends[index - 1].y - gap : bottom); });
  const {ctx} = plot;
  ctx.save();
  ctx.font = `600 ${11 * ratio}px system-ui`;
  ctx.textAlign = "left";
  for (const {series, x, y} of ends) { ctx.fillStyle = series._stroke; ctx.fillText(series.label, x + 4 * ratio, y); }
  ctx.restore();
}

function showValues(plot, chart) {
  let element = chart.element.parentElement.querySelector(".u-values");
  if (!element) {
    element = document.createElement("span");
    element.className = "u-values";
    chart.element.parentElement.style.position = "relative";
    chart.element.before(element);
  }
  const index = plot.cursor.idx;
  if (index === null || index === undefined || plot.cursor.left < 0) { element.textContent = ""; return; }
  const values = plot.series.slice(1).map((series, i) => `${series.label} ${plot.data[i + 1][index] == null ? "–" : format(chart, plot.data[i + 1][index])}`);
  element.textContent = `${clock(plot.data[0][index])} · ${values.join(" · ")}`;
}
