/* Plots: Vega specifications with fixed field names. Names from the data are values in them, never fields or
 * expressions, and Vega writes them as text. Colours come from the page (currentColor), so dark, light and print need no
 * second drawing. */
'use strict';
const vega = (function () {
  const made = {};
  function need(name) {
    if (!made[name]) {
      made[name] = {};
      modules[name](made[name], { exports: made[name] }, need);
    }
    return made[name];
  }
  Object.assign(need('vega-dataflow').transforms, need('vega-transforms'), need('vega-view-transforms'), need('vega-encode'));
  return { parse: need('vega-parser').parse, View: need('vega-view').View, expr: need('vega-interpreter').expressionInterpreter };
})();

const palette = ['#4a86c5', '#d9822b', '#3f9e6b', '#b65fcf', '#c8504b', '#7f8c3a', '#2aa0a8', '#a8745b', '#8a7de0', '#8b949e'];
/* Colours for n things, all distinct: the palette, then hues in equal steps. */
function colours(n) { return n <= palette.length ? palette : Array.from({ length: n }, (_, i) => 'hsl(' + Math.round(360 * i / n) + ',' + (i % 2 ? 45 : 65) + '%,' + (i % 3 ? 50 : 62) + '%)'); }
const kindColour = { baseline: '#8b949e', transfer: '#4a86c5', control: '#d9822b' };

const font = 'system-ui, "Segoe UI", Roboto, Arial, sans-serif'; /* measured on a canvas: no inherit */
const config = {
  background: null,
  axis: { labelColor: 'currentColor', titleColor: 'currentColor', tickColor: 'currentColor', domainColor: 'currentColor', gridColor: 'currentColor',
    gridOpacity: 0.12, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 'normal', labelLimit: 190, labelFont: font, titleFont: font },
  legend: { labelColor: 'currentColor', titleColor: 'currentColor', labelFontSize: 12, labelLimit: 190, labelFont: font, titleFont: font },
  text: { fill: 'currentColor', font }
};

function base(width, height, more) {
  return Object.assign({ width, height, autosize: { type: 'fit-x', contains: 'padding' }, padding: 4, config }, more);
}

/* A little room on both sides of the values. */
function extent(values, zero) {
  const xs = values.filter(Number.isFinite);
  let lo = Math.min(...xs, zero ? 0 : Infinity), hi = Math.max(...xs, zero ? 0 : -Infinity);
  if (!xs.length) { lo = 0; hi = 1; }
  const room = (hi - lo || Math.abs(hi) || 1) * 0.06;
  return [zero && lo === 0 ? 0 : lo - room, zero && hi === 0 ? 0 : hi + room];
}

const plots = {
  /* rows: {name, kind, mean, low, high, text}; runs: {name, value}; controls: {name, control, value}; zero: a line there. The
   * number stands in the row of its interval. */
  forest(width, title, rows, runs, controls, zero) {
    const shapes = [...new Set(controls.map(c => c.control))];
    const all = rows.flatMap(r => [r.mean, r.low, r.high]).concat(runs.map(r => r.value), controls.map(c => c.value));
    const legends = [{ fill: 'kind', title: null, orient: 'top', symbolType: 'circle' }];
    if (shapes.length) legends.push({ shape: 'shape', title: 'controls, the mean of each draw', titleFontWeight: 'normal', orient: 'top', symbolStrokeColor: '#d9822b', symbolFillColor: 'transparent', columns: width < 480 ? 1 : 3 });
    const y = { scale: 'y', field: 'name', band: 0.5 };
    return base(width, { step: 30 }, {
      height: Math.max(60, rows.length * 30),
      data: [{ name: 'rows', values: rows }, { name: 'runs', values: runs }, { name: 'controls', values: controls }],
      scales: [
        { name: 'x', type: 'linear', domain: extent(zero ? all.concat(0) : all), range: 'width', nice: true, zero: false },
        { name: 'y', type: 'band', domain: rows.map(r => r.name), range: 'height', padding: 0.2 },
        { name: 'kind', type: 'ordinal', domain: Object.keys(kindColour).filter(k => rows.some(r => r.kind === k)), range: Object.keys(kindColour).filter(k => rows.some(r => r.kind === k)).map(k => kindColour[k]) },
        { name: 'text', type: 'ordinal', domain: rows.map(r => r.name), range: rows.map(r => r.text || '') },
        { name: 'shape', type: 'ordinal', domain: shapes, range: ['diamond', 'triangle-up', 'square', 'cross', 'triangle-down'] }
      ],
      axes: [{ orient: 'bottom', scale: 'x', title, grid: true, tickCount: 6 }, { orient: 'left', scale: 'y', domain: false, ticks: false, labelPadding: 8 },
        ...(width < 480 ? [] : [{ orient: 'right', scale: 'y', domain: false, ticks: false, labelPadding: 8, labelLimit: 240, encode: { labels: { update: { text: { scale: 'text', field: 'value' } } } } }])],
      legends,
      marks: [
        ...(zero ? [{ type: 'rule', encode: { enter: { x: { scale: 'x', value: 0 }, y: { value: 0 }, y2: { signal: 'height' }, stroke: { value: 'currentColor' }, strokeOpacity: { value: 0.5 } } } }] : []),
        { type: 'symbol', name: 'run', from: { data: 'runs' }, encode: { enter: { x: { scale: 'x', field: 'value' }, y, size: { value: 18 }, fill: { value: 'currentColor' }, opacity: { value: 0.3 } } } },
        { type: 'symbol', name: 'control', from: { data: 'controls' }, encode: { enter: { x: { scale: 'x', field: 'value' }, y, dy: { value: 0 }, size: { value: 46 }, shape: { scale: 'shape', field: 'control' }, stroke: { value: '#d9822b' }, strokeWidth: { value: 1.3 }, fill: { value: 'transparent' }, tooltip: { field: 'control' } } } },
        { type: 'rule', name: 'interval', from: { data: 'rows' }, encode: { enter: { x: { scale: 'x', field: 'low' }, x2: { scale: 'x', field: 'high' }, y, stroke: { scale: 'kind', field: 'kind' }, strokeWidth: { value: 2.5 } } } },
        { type: 'symbol', name: 'mean', from: { data: 'rows' }, encode: { enter: { x: { scale: 'x', field: 'mean' }, y, size: { value: 90 }, fill: { scale: 'kind', field: 'kind' }, tooltip: { field: 'mean' } } } }
      ]
    });
  },

  /* points: {name, run, mean, low, high}: a row for each method, in it a line for each run. */
  pivot(width, title, methods, labels, points) {
    const y = { scale: 'y', field: 'name', offset: { scale: 'inner', field: 'run', band: 0.5 } }, step = Math.max(26, 11 * labels.length);
    return base(width, 100, {
      height: step * methods.length,
      data: [{ name: 'points', values: points }],
      scales: [
        { name: 'x', type: 'linear', domain: extent(points.flatMap(p => [p.low, p.high])), range: 'width', nice: true, zero: false },
        { name: 'y', type: 'band', domain: methods, range: 'height', padding: 0.15 },
        { name: 'inner', type: 'band', domain: labels, range: [0, step * 0.85] },
        { name: 'c', type: 'ordinal', domain: labels, range: colours(labels.length) }
      ],
      axes: [{ orient: 'bottom', scale: 'x', title, grid: true, tickCount: 6 }, { orient: 'left', scale: 'y', domain: false, ticks: false, labelPadding: 8 }],
      legends: [{ fill: 'c', title: null, orient: 'top', symbolType: 'circle', columns: width < 480 ? 1 : 3 }],
      marks: [
        { type: 'rule', name: 'interval', from: { data: 'points' }, encode: { enter: { x: { scale: 'x', field: 'low' }, x2: { scale: 'x', field: 'high' }, y, stroke: { scale: 'c', field: 'run' }, strokeWidth: { value: 2 } } } },
        { type: 'symbol', name: 'mean', from: { data: 'points' }, encode: { enter: { x: { scale: 'x', field: 'mean' }, y, size: { value: 50 }, fill: { scale: 'c', field: 'run' }, tooltip: { field: 'mean' } } } }
      ]
    });
  },

  /* rows: {x, y, series} */
  lines(width, xTitle, yTitle, rows, dots) {
    const series = [...new Set(rows.map(r => r.series))];
    const marks = [{ type: 'line', from: { data: 'series' }, encode: { enter: { x: { scale: 'x', field: 'x' }, y: { scale: 'y', field: 'y' }, stroke: { scale: 'c', field: 'series' }, strokeWidth: { value: 1.8 } } } }];
    if (dots) marks.push({ type: 'symbol', from: { data: 'series' }, encode: { enter: { x: { scale: 'x', field: 'x' }, y: { scale: 'y', field: 'y' }, fill: { scale: 'c', field: 'series' }, size: { value: 40 } } } });
    return base(width, 220, {
      data: [{ name: 'rows', values: rows }],
      scales: [
        { name: 'x', type: 'linear', domain: { data: 'rows', field: 'x' }, range: 'width', zero: false },
        { name: 'y', type: 'linear', domain: extent(rows.map(r => r.y)), range: 'height', nice: true, zero: false },
        { name: 'c', type: 'ordinal', domain: series, range: colours(series.length) }
      ],
      axes: [{ orient: 'bottom', scale: 'x', title: xTitle, tickCount: 6 }, { orient: 'left', scale: 'y', title: yTitle, grid: true, tickCount: 5 }],
      legends: series.length > 1 ? [{ stroke: 'c', title: null, orient: 'top', symbolType: 'stroke', columns: width < 420 ? 2 : 4 }] : [],
      marks: [{ type: 'group', from: { facet: { name: 'series', data: 'rows', groupby: 'series' } }, marks }]
    });
  },

  /* rows: {name, value} */
  bars(width, title, rows, range) {
    return base(width, 100, {
      height: Math.max(40, rows.length * 24),
      data: [{ name: 'rows', values: rows }],
      scales: [
        { name: 'x', type: 'linear', domain: range || extent(rows.map(r => r.value), true), range: 'width', nice: true },
        { name: 'y', type: 'band', domain: rows.map(r => r.name), range: 'height', padding: 0.25 }
      ],
      axes: [{ orient: 'bottom', scale: 'x', title, grid: true, tickCount: 5 }, { orient: 'left', scale: 'y', domain: false, ticks: false, labelPadding: 6 }],
      marks: [{ type: 'rect', from: { data: 'rows' }, encode: { enter: { x: { scale: 'x', field: 'value' }, x2: { scale: 'x', value: 0 }, y: { scale: 'y', field: 'name' }, height: { scale: 'y', band: 1 }, fill: { value: palette[0] }, tooltip: { field: 'value' } } } }]
    });
  },

  /* cells: {row, col, value, text}; colour by value, both signs when `signed`. */
  matrix(width, rowTitle, colTitle, rows, cols, cells, signed) {
    const most = Math.max(1e-12, ...cells.map(c => Math.abs(c.value)).filter(Number.isFinite));
    const size = Math.max(18, Math.min(48, Math.floor((width - 150) / Math.max(1, cols.length))));
    const small = size < 30;
    for (const c of cells) c.size = Math.abs(c.value) / most || 0;
    return base(width, 100, {
      width: size * cols.length, height: Math.max(18, Math.min(size, 34)) * rows.length, autosize: { type: 'pad' },
      data: [{ name: 'cells', values: cells }],
      scales: [
        { name: 'x', type: 'band', domain: cols, range: 'width', padding: 0.04 },
        { name: 'y', type: 'band', domain: rows, range: 'height', padding: 0.04 },
        { name: 'o', type: 'linear', domain: [0, 1], range: [0.03, 0.95] },
        { name: 'c', type: 'ordinal', domain: ['minus', 'plus'], range: ['#c8504b', '#3f7cbf'] }
      ],
      axes: [{ orient: 'top', scale: 'x', title: colTitle, domain: false, ticks: false, labelAngle: cols.length > 4 || cols.some(c => c.length > 6) ? -45 : 0, labelAlign: cols.length > 4 || cols.some(c => c.length > 6) ? 'left' : 'center', labelLimit: 110 },
        { orient: 'left', scale: 'y', title: rowTitle, domain: false, ticks: false, labelLimit: 130 }],
      marks: [
        { type: 'rect', name: 'cell', from: { data: 'cells' }, encode: { enter: { x: { scale: 'x', field: 'col' }, y: { scale: 'y', field: 'row' }, width: { scale: 'x', band: 1 }, height: { scale: 'y', band: 1 }, fill: { scale: 'c', field: 'sign' }, fillOpacity: { scale: 'o', field: 'size' }, stroke: { value: 'currentColor' }, strokeOpacity: { value: 0.12 }, tooltip: { field: 'text' } } } },
        { type: 'text', from: { data: 'cells' }, encode: { enter: { x: { scale: 'x', field: 'col', band: 0.5 }, y: { scale: 'y', field: 'row', band: 0.5 }, align: { value: 'center' }, baseline: { value: 'middle' }, fontSize: { value: small ? 9 : 12 }, text: { field: 'text' }, fill: { value: 'currentColor' } } } }
      ]
    });
  },

  /* rows: {x, y, group} */
  scatter(width, xTitle, yTitle, rows, diagonal) { /* diagonal: the range of both axes, which it joins */
    const groups = [...new Set(rows.map(r => r.group))];
    const xs = rows.map(r => r.x), ys = rows.map(r => r.y);
    const both = diagonal || null;
    const line = diagonal ? [{ x: both[0], y: both[0] }, { x: both[1], y: both[1] }] : [];
    return base(width, Math.min(360, Math.max(220, width * 0.7)), {
      data: [{ name: 'rows', values: rows }, { name: 'line', values: line }],
      scales: [
        { name: 'x', type: 'linear', domain: both || extent(xs), range: 'width', zero: false },
        { name: 'y', type: 'linear', domain: both || extent(ys), range: 'height', zero: false },
        { name: 'c', type: 'ordinal', domain: groups, range: colours(groups.length) }
      ],
      axes: [{ orient: 'bottom', scale: 'x', title: xTitle, tickCount: 5 }, { orient: 'left', scale: 'y', title: yTitle, grid: true, tickCount: 5 }],
      legends: groups.length > 1 ? [{ fill: 'c', title: null, orient: 'top', symbolType: 'circle', columns: width < 420 ? 3 : 6 }] : [],
      marks: [
        { type: 'line', from: { data: 'line' }, encode: { enter: { x: { scale: 'x', field: 'x' }, y: { scale: 'y', field: 'y' }, stroke: { value: 'currentColor' }, strokeOpacity: { value: 0.4 }, strokeDash: { value: [4, 4] } } } },
        { type: 'symbol', name: 'point', from: { data: 'rows' }, encode: { enter: { x: { scale: 'x', field: 'x' }, y: { scale: 'y', field: 'y' }, fill: { scale: 'c', field: 'group' }, size: { value: 22 }, opacity: { value: 0.65 } } } }
      ]
    });
  }
};
