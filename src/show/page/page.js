/* The page: everything is made with createElement and textContent, so that no name in the data can become markup. */
const data = JSON.parse(document.getElementById('ferry-data').textContent);
const main = document.querySelector('main');

/* ---- elements ---- */

function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) e.setAttribute(key, value);
  for (const c of children.flat()) if (c !== null && c !== undefined) e.append(c); /* strings become text */
  return e;
}

function number(x, digits) {
  if (x === null || x === undefined || !Number.isFinite(x)) return 'n/a';
  const size = Math.abs(x) < 1e-12 ? 0 : Math.abs(x); /* what rounding leaves of nothing */
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return x.toExponential(2);
  return (size === 0 ? 0 : x).toFixed(digits !== undefined ? digits : size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

function signed(x) { return Number.isFinite(x) ? (x > 0 ? '+' : '') + number(x) : 'n/a'; }

/* Decimals of a metric over all methods of a run, and a number with so many (-1: an exponent): as on the terminal. */
function places(results, metric) {
  const most = Math.max(0, ...results.map(r => Math.abs(r.metrics[metric].mean)).filter(Number.isFinite));
  if (most === 0) return 3;
  if (most >= 1e6 || most < 1e-4) return -1;
  return most >= 1000 ? 0 : most >= 100 ? 1 : most >= 10 ? 2 : most >= 0.1 ? 3 : 5;
}
function rounded(x, digits, sign) {
  if (x === null || x === undefined || !Number.isFinite(x)) return 'n/a';
  const plus = sign && x > 0 ? '+' : '';
  if (digits < 0) return plus + x.toExponential(2).replace(/e([-+])(\d)$/, 'e$10$2');
  return Math.abs(x) < 0.5 * 10 ** -digits ? (0).toFixed(digits) : plus + x.toFixed(digits);
}

function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = el('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function csv(rows) {
  const keys = [...new Set(rows.flatMap(r => Object.keys(r)))];
  const cell = x => { const s = x === null || x === undefined ? '' : String(x); return /[",\n\r]/.test(s) ? '"' + s.replace(/"/g, '""') + '"' : s; };
  return [keys, ...rows.map(r => keys.map(k => r[k]))].map(line => line.map(cell).join(',')).join('\n') + '\n';
}

let figures = 0;
/* A drawing as a file of its own: colours that the page gives are written out. */
function drawing(box) {
  const svg = box.querySelector('svg');
  if (!svg) return null;
  const copy = svg.cloneNode(true), style = getComputedStyle(document.body);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('style', 'background:' + style.backgroundColor);
  return { text: new XMLSerializer().serializeToString(copy).replace(/currentColor/g, style.color), width: svg.width.baseVal.value, height: svg.height.baseVal.value };
}

function savePicture(box, name, png) {
  const d = drawing(box);
  if (!d) return;
  if (!png) { save(name + '.svg', 'image/svg+xml', d.text); return; }
  const image = new Image(), canvas = el('canvas', { width: 2 * d.width, height: 2 * d.height });
  image.onload = () => {
    const pen = canvas.getContext('2d');
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => save(name + '.png', 'image/png', blob));
  };
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(d.text);
}

/* What stands under a plot or table: its data to take away, a plot also as a picture, and how to make its numbers again. */
function under(rows, command, box) {
  const name = 'data-' + ++figures;
  const pictures = box ? ['SVG', 'PNG'].map(kind => {
    const button = el('button', { type: 'button' }, kind);
    button.addEventListener('click', () => savePicture(box, name, kind === 'PNG'));
    return button;
  }) : [];
  const csvButton = el('button', { type: 'button' }, 'data as CSV'), jsonButton = el('button', { type: 'button' }, 'as JSON');
  csvButton.addEventListener('click', () => save(name + '.csv', 'text/csv', csv(rows)));
  jsonButton.addEventListener('click', () => save(name + '.json', 'application/json', JSON.stringify(rows, null, 1)));
  return el('div', { class: 'under' }, csvButton, jsonButton, pictures, command ? el('span', {}, 'again: ', el('code', {}, command)) : null);
}

/* ---- plots ---- */

const drawn = [];
function draw(p) {
  const width = Math.floor(Math.min(p.box.clientWidth || 640, p.most));
  if (width === p.width || width < 40) return;
  p.width = width;
  if (p.view) p.view.finalize();
  p.view = new vega.View(vega.parse(p.make(width), null, { ast: true }), { expr: vega.expr, renderer: 'svg', container: p.box, hover: false });
  p.view.runAsync().then(() => { p.box.setAttribute('data-drawn', '1'); });
}

function plot(title, note, rows, command, make, most) {
  const box = el('div', { class: 'plot', role: 'img', 'aria-label': title });
  const f = el('figure', {}, el('figcaption', {}, title), note ? el('p', { class: 'soft' }, note) : null, box, under(rows, command, box));
  drawn.push({ box, make, most: most || 900, width: 0, view: null });
  return f;
}

function drawAll() { for (const p of drawn) if (p.box.offsetParent !== null) draw(p); }
let waiting = 0;
window.addEventListener('resize', () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 150); });
document.addEventListener('toggle', drawAll, true);

/* ---- tables ---- */

/* columns: {title, text}; a cell is a string, or {show, value, class}. */
function table(columns, rows, command) {
  const body = el('tbody', {}), heads = [];
  const lines = rows.map(cells => cells.map(c => (c !== null && typeof c === 'object' ? c : { show: c === null || c === undefined ? '' : String(c), value: c })));
  for (const cells of lines) {
    const tr = el('tr', {});
    cells.forEach((c, i) => tr.append(el('td', { class: [columns[i].text ? 'text' : '', c.class || ''].join(' ').trim() || null }, c.show)));
    body.append(tr);
    cells.tr = tr;
  }
  columns.forEach((column, i) => {
    const button = el('button', { type: 'button' }, column.title), th = el('th', { scope: 'col', class: column.text ? 'text' : null }, button);
    button.addEventListener('click', () => {
      const down = th.getAttribute('aria-sort') === 'ascending' || (th.getAttribute('aria-sort') !== 'descending' && !column.text);
      for (const other of heads) other.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const order = lines.slice().sort((a, b) => {
        const x = a[i].value, y = b[i].value, none = v => v === null || v === undefined || Number.isNaN(v);
        if (none(x) || none(y)) return none(x) - none(y);
        const c = typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y));
        return down ? -c : c;
      });
      for (const cells of order) body.append(cells.tr);
    });
    heads.push(th);
  });
  const plain = lines.map(cells => Object.fromEntries(cells.map((c, i) => [columns[i].title, c.value !== undefined && c.value !== null && typeof c.value !== 'object' ? c.value : c.show])));
  return el('div', {}, el('div', { class: 'wide' }, el('table', {}, el('thead', {}, el('tr', {}, heads)), body)), under(plain, command));
}

/* ---- one run ---- */

function verdictOf(r) { return r.verdict ? r.verdict.verdict : ''; }
/* Old folders have words of their own. */
function verdictClass(v) { return v === 'helps' || v === 'best' ? 'helps' : ['harms', 'weaker', 'weak learner'].includes(v) ? 'harms' : null; }

function mean(xs) { return xs.reduce((a, b) => a + b, 0) / xs.length; }

/* Means of each draw of each control, for the plot. */
function controlDots(results) {
  return results.flatMap(r => ((r.verdict && r.verdict.controls) || []).flatMap(c => c.runs.map(run => ({ name: r.name, control: c.control, value: mean(run) }))));
}

function resultsSection(run) {
  const d = run.results, metric = d.results.length && d.results[0].metric;
  if (!metric) return [el('p', { class: 'soft' }, d.verdict.sentence)];
  const rows = d.results.map(r => ({ name: r.name, kind: r.kind, mean: r.mean, low: r.mean - (r.std || 0), high: r.mean + (r.std || 0) }));
  const runs = d.results.flatMap(r => r.runs.map((value, repeat) => ({ name: r.name, repeat: repeat + 1, value })));
  const controls = controlDots(d.results);
  const metrics = Object.keys(d.results[0].metrics), decimals = Object.fromEntries(metrics.map(m => [m, places(d.results, m)]));
  const spread = (r, m) => rounded(r.metrics[m].mean, decimals[m]) + (r.runs.length > 1 && Number.isFinite(r.metrics[m].mean) ? ' ± ' + rounded(r.metrics[m].std, decimals[m]) : '');
  const versus = r => rounded(r.versus.difference, decimals[metric], true) + (r.versus.low === null ? '' : ' (' + rounded(r.versus.low, decimals[metric]) + ' to ' + rounded(r.versus.high, decimals[metric]) + ')');
  const reference = d.verdict.reference === 'target only' ? 'what the labels choose without the source' : d.verdict.best_baseline + ', the best baseline';
  const most = r => verdictOf(r) === 'open' && Number.isFinite(r.verdict.at_most) ? 'open (at most ' + rounded(r.verdict.at_most, decimals[metric], true) + ')' : verdictOf(r);
  for (const row of rows) row.text = spread(d.results.find(r => r.name === row.name), metric);
  const gains = d.results.filter(r => r.versus && Number.isFinite(r.versus.difference)).map(r => ({ name: r.name, kind: r.kind, mean: r.versus.difference, low: r.versus.low === null ? r.versus.difference : r.versus.low, high: r.versus.high === null ? r.versus.difference : r.versus.high, text: versus(r) }));
  const columns = [{ title: 'method', text: true }, { title: 'kind', text: true }, { title: 'verdict', text: true }, ...metrics.map(m => ({ title: m })), { title: 'fit s' }, { title: d.verdict.reference === 'target only' ? 'vs target only' : 'vs best baseline' }];
  const cells = d.results.map(r => [r.name, r.kind, { show: most(r), value: verdictOf(r), class: verdictClass(verdictOf(r)) },
    ...metrics.map(m => ({ show: spread(r, m), value: r.metrics[m].mean })),
    { show: mean(r.fit_seconds) < 0.01 ? '<0.01' : number(mean(r.fit_seconds), 2), value: mean(r.fit_seconds) },
    r.versus ? { show: versus(r), value: r.versus.difference } : { show: r.name === d.verdict.best_baseline ? 'best baseline' : '', value: null }]);
  const out = [el('h2', {}, 'Results'),
    plot(metric + ' of every method', 'Small dots are repeats, the large one their mean, the bar one standard deviation to each side.' + (controls.length ? ' Open shapes are the same method under a control: a method whose shapes reach its dot owes nothing to what was made up.' : ''), rows.concat(runs, controls), run.command, w => plots.forest(w, metric, rows, runs, controls)),
    gains.length ? plot('Difference to ' + reference, 'In ' + metric + (d.schema >= 3 ? ', positive is better' : '') + ', with the 95 % interval.', gains, run.command, w => plots.forest(w, 'difference in ' + metric, gains, [], [], true)) : null,
    table(columns, cells, run.command)];
  if (d.skipped.length) out.push(el('details', {}, el('summary', {}, 'No result from ' + d.skipped.map(s => s.name).join(', ')), d.skipped.map(s => el('p', {}, s.name + ': ' + s.reason))));
  return out;
}

function verdictSection(run) {
  const judged = run.results.results.filter(r => r.verdict);
  const a = run.results.answer, out = [];
  if (a) out.push(el('dl', { class: 'answer' }, [['Use', a.use], ['Expect', a.expect], ['Source', a.source], ['Next', a.next]].map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)])));
  if (a && a.remark) out.push(el('p', {}, a.remark));
  out.push(el('p', { class: 'lead' }, run.results.verdict.sentence));
  if (judged.length) out.push(el('ul', { class: 'verdicts' }, judged.map(r => {
    const v = verdictOf(r), rest = r.verdict.sentence.slice(0, r.name.length + v.length + 4) === r.name + ': ' + v + ': ' ? r.verdict.sentence.slice(r.name.length + v.length + 4) : r.verdict.sentence;
    return el('li', { class: verdictClass(v) }, el('strong', {}, r.name + ' '), el('span', { class: 'badge' }, v), rest);
  })));
  return out;
}

function controlsSection(run) {
  const rows = [], d = run.results;
  for (const r of d.results) for (const c of [...((r.verdict && r.verdict.controls) || []), ...((r.verdict && r.verdict.sources) || [])])
    rows.push([r.name, c.control + (c.source ? ' of ' + c.source : ''), { show: number(c.mean), value: c.mean }, { show: signed(c.gain), value: c.gain },
      { show: Number.isFinite(c.low) ? '[' + signed(c.low) + ', ' + signed(c.high) + ']' : '', value: c.low },
      { show: c.draws + ' × ' + c.repeats, value: c.draws * c.repeats }, { show: c.source || c.as_good === undefined ? '' : c.as_good + ' of ' + c.draws, value: c.as_good },
      c.verdict || (c.same ? 'changes nothing' : c.reason || (c.primary ? 'decides' : ''))]);
  if (!rows.length) return [];
  const out = [el('h2', {}, 'Controls'), el('p', { class: 'soft' }, 'Each keeps everything but the knowledge. "Better by" is how much the method itself is better on the same splits; "as good" counts the draws that do as well as the real thing.'),
    table([{ title: 'method', text: true }, { title: 'control', text: true }, { title: 'mean' }, { title: 'better by' }, { title: '95 % interval' }, { title: 'draws × repeats' }, { title: 'as good' }, { title: '', text: true }], rows, run.command)];
  const left = d.results.flatMap(r => ((r.verdict && r.verdict.sources) || []).map(s => ({ row: s.source, col: r.name, value: s.gain, text: signed(s.gain), sign: s.gain < 0 ? 'minus' : 'plus' })));
  if (left.length) out.push(plot('What each source adds', 'The loss when it is left out; below zero it does harm.', left, run.command,
    w => plots.matrix(w, 'source', 'method', [...new Set(left.map(c => c.row))], [...new Set(left.map(c => c.col))], left, true), 640));
  return out;
}

/* ---- what methods say of themselves ---- */

const isNumbers = v => Array.isArray(v) && v.length > 0 && v.every(x => x === null || typeof x === 'number');
const words = key => key.replace(/_/g, ' ');

/* Long traces are thinned: no screen shows more. */
function thin(values, most) {
  const step = Math.max(1, Math.ceil(values.length / (most || 400)));
  return values.map((y, i) => ({ x: i + 1, y })).filter((p, i) => p.y !== null && (i % step === 0 || i === values.length - 1));
}

function scatterRows(v) {
  const xs = v.x || [], ys = v.y || [], group = v.class || v.group || v.label || [];
  return xs.map((x, i) => ({ x, y: ys[i], group: String(group[i] === null || group[i] === undefined ? '' : group[i]) || 'no label' })).filter(p => Number.isFinite(p.x) && Number.isFinite(p.y));
}

/* A diagnostic becomes the plot that its shape asks for; false when it is none. */
function diagnosticPlot(name, key, v, command) {
  const title = name + ': ' + words(key);
  if (isNumbers(v) && v.length > 1) {
    const rows = thin(v).map(p => Object.assign(p, { series: name }));
    if (v.length < 4) return plot(title, null, rows, command, w => plots.bars(w, words(key), rows.map(p => ({ name: String(p.x), value: p.y }))), 640);
    return plot(title, null, rows, command, w => plots.lines(w, key === 'objective' ? 'iteration' : 'place', words(key), rows, rows.length < 30), 640);
  }
  if (Array.isArray(v) && v.length && v.every(isNumbers) && v.every(r => r.length === v[0].length)) {
    if (v.length > 40 || v[0].length > 40) return null;
    const cells = v.flatMap((r, i) => r.map((x, j) => ({ row: String(i + 1), col: String(j + 1), value: x, text: number(x, 2), sign: x < 0 ? 'minus' : 'plus' })));
    return plot(title, null, cells, command, w => plots.matrix(w, '', '', v.map((_, i) => String(i + 1)), v[0].map((_, j) => String(j + 1)), cells, true), 640);
  }
  if (v === null || typeof v !== 'object' || Array.isArray(v)) return null;
  if (isNumbers(v.x) && isNumbers(v.y)) {
    const rows = scatterRows(v);
    return plot(title, null, rows, command, w => plots.scatter(w, '', '', rows), 560);
  }
  const entries = Object.entries(v);
  if (entries.length && entries.every(e => typeof e[1] === 'number')) {
    const rows = entries.slice(0, 40).map(([n, value]) => ({ name: n, value }));
    return plot(title, null, rows, command, w => plots.bars(w, words(key), rows), 640);
  }
  if (entries.length > 1 && isNumbers(v.rows) && entries.every(e => isNumbers(e[1]) && e[1].length === v.rows.length)) {
    const rows = entries.filter(e => e[0] !== 'rows').slice(0, 10).flatMap(([series, ys]) => ys.map((y, i) => ({ x: v.rows[i], y, series }))).filter(p => Number.isFinite(p.y));
    return plot(title, null, rows, command, w => plots.lines(w, 'instances seen', words(key), rows), 760);
  }
  if (entries.length && entries.every(e => isNumbers(e[1]))) {
    const rows = entries.slice(0, 10).flatMap(([series, ys]) => thin(ys, 200).map(p => Object.assign(p, { series })));
    return plot(title, null, rows, command, w => plots.lines(w, 'step', words(key), rows), 760);
  }
  return null;
}

function diagnosticsSection(run) {
  const figures = [], values = [];
  const curves = run.results.results.filter(r => r.curve && isNumbers(r.curve.rows));
  if (curves.length) {
    const rate = curves.flatMap(r => r.curve.rows.map((x, i) => ({ x, y: r.curve.mean[i], series: r.name })).filter(p => Number.isFinite(p.y)));
    const sum = rate.map(p => ({ x: p.x, y: p.x * p.y, series: p.series }));
    figures.push(plot('Mistake rate so far', 'Mean over the repeats.', rate, run.command, w => plots.lines(w, 'instances seen', 'mistake rate', rate), 760));
    figures.push(plot('Mistakes so far', 'Mean over the repeats.', sum, run.command, w => plots.lines(w, 'instances seen', 'mistakes', sum), 760));
  }
  for (const r of run.results.results) for (const [key, v] of Object.entries(r.diagnostics || {})) {
    const f = diagnosticPlot(r.name, key, v, run.command);
    if (f) figures.push(f);
    else if (typeof v === 'number' || typeof v === 'string') values.push([r.name, words(key), typeof v === 'number' ? { show: number(v), value: v } : v]);
  }
  const out = [];
  if (figures.length || values.length) out.push(el('h2', {}, 'Inside the methods'), el('p', { class: 'soft' }, 'Of the last repeat.'));
  if (figures.length) out.push(el('div', { class: 'grid' }, figures));
  if (values.length) out.push(el('details', {}, el('summary', {}, 'Values that methods noted'), table([{ title: 'method', text: true }, { title: 'what', text: true }, { title: 'value', text: true }], values, run.command)));
  return out;
}

/* ---- predictions of the first repeat ---- */

function pictureOf(r, command, range) {
  const p = r.picture;
  if (!p) return null;
  if (p.kind === 'confusion') {
    const cells = p.counts.flatMap((row, i) => row.map((n, j) => ({ row: p.classes[i], col: p.classes[j], value: n / Math.max(1, row.reduce((a, b) => a + b, 0)), text: String(n), sign: i === j ? 'plus' : 'minus' })));
    return plot(r.name + ': confusion matrix', null, cells, command, w => plots.matrix(w, 'true', 'predicted', p.classes, p.classes, cells), 520);
  }
  if (p.kind === 'points') {
    const rows = p.truth.map((x, i) => ({ x, y: p.prediction[i], group: '' })).filter(q => Number.isFinite(q.x) && Number.isFinite(q.y));
    return plot(r.name + ': predicted against true', null, rows, command, w => plots.scatter(w, 'true', 'predicted', rows, range), 520);
  }
  if (p.kind === 'embedding') {
    const rows = scatterRows(p);
    return plot(r.name + ': embedding', 'The first two dimensions.', rows, command, w => plots.scatter(w, 'z1', 'z2', rows), 560);
  }
  if (p.kind === 'labels') {
    const rows = p.names.map((n, i) => ({ name: n, value: p.f1[i] })).filter(q => Number.isFinite(q.value));
    return plot(r.name + ': F1 of each label', null, rows, command, w => plots.bars(w, 'F1', rows, [0, 1]), 520);
  }
  return null;
}

function pictureSection(run) {
  /* panels of one quantity have one axis */
  const points = run.results.results.filter(r => r.picture && r.picture.kind === 'points').flatMap(r => r.picture.truth.concat(r.picture.prediction)).filter(Number.isFinite);
  const figures = run.results.results.map(r => pictureOf(r, run.command, points.length ? extent(points) : null)).filter(Boolean);
  if (!figures.length) return [];
  const out = [el('h2', {}, 'Predictions'), el('p', { class: 'soft' }, 'Of the first repeat, on what was hidden from the methods.'), el('div', { class: 'grid' }, figures.slice(0, 4))];
  if (figures.length > 4) out.push(el('details', {}, el('summary', {}, figures.length - 4 + ' more'), el('div', { class: 'grid' }, figures.slice(4))));
  return out;
}

/* ---- data, record ---- */

function domainsSection(run) {
  const r = run.run;
  if (!r) return [];
  const rows = r.domains.map(d => [d.name, d.role, { show: String(d.instances), value: d.instances }, { show: String(d.labels), value: d.labels },
    d.views.map(v => v.name + ' ' + v.rows + ' × ' + v.features).join(', ') + (d.graphs.length ? (d.views.length ? ', ' : '') + d.graphs.map(g => g.name + ' ' + g.edges + ' edges').join(', ') : '') + (d.ratings ? d.ratings + ' ratings' : ''), d.hash]);
  const out = [el('h2', {}, 'Data'), table([{ title: 'domain', text: true }, { title: 'role', text: true }, { title: 'instances' }, { title: 'labels' }, { title: 'views, graphs, ratings', text: true }, { title: 'hash', text: true }], rows, run.command)];
  const measures = r.measures || [];
  if (measures.length) {
    const names = [...new Set(measures.flatMap(m => Object.keys(m)).filter(k => k !== 'from' && k !== 'to'))];
    out.push(el('h3', {}, 'How far the domains are apart'), table([{ title: 'from', text: true }, { title: 'to', text: true }, ...names.map(n => ({ title: words(n) }))],
      measures.map(m => [m.from, m.to, ...names.map(n => ({ show: m[n] === null || m[n] === undefined ? '' : number(m[n]), value: m[n] }))]), run.command));
    const far = measures.filter(m => Number.isFinite(m.a_distance)).map(m => ({ row: m.from, col: m.to, value: m.a_distance, text: number(m.a_distance, 2), sign: 'plus' }));
    if (far.length) out.push(plot('A-distance', '0: cannot be told apart, 2: always.', far, run.command, w => plots.matrix(w, 'from', 'to', [...new Set(far.map(c => c.row))], [...new Set(far.map(c => c.col))], far), 520));
  }
  return out;
}

function recordSection(run) {
  const r = run.run, d = run.results, lines = [];
  const put = (what, value) => { if (value !== null && value !== undefined) lines.push([what, String(value)]); };
  put('seed', d.seed); put('repeats', d.repeats); put('engine', d.engine); put('threads', d.threads); put('BLAS core', d.blas_core); put('Ferry', d.ferry);
  if (r) {
    put('started', r.started); put('seconds', number(r.seconds)); put('peak memory, MB', r.peak_memory ? (r.peak_memory / 1e6).toFixed(0) : null);
    put('machine', [r.machine.cpu, r.machine.cores + ' cores', r.machine.system, r.machine.release].filter(Boolean).join(', ')); put('compiler', r.compiler);
    for (const [name, version] of Object.entries(r.libraries || {})) put(name, version);
  }
  const options = d.results.flatMap(m => Object.entries(m.options).map(([k, v]) => [m.name, k, v]));
  return [el('h2', {}, 'Record'), run.command ? el('pre', {}, run.command) : null,
    el('p', { class: 'soft' }, 'ferry rerun on this folder runs it again and compares every number.'),
    el('details', {}, el('summary', {}, 'Settings, machine and versions'), table([{ title: 'what', text: true }, { title: 'value', text: true }], lines, run.command)),
    el('details', {}, el('summary', {}, 'Options of the methods'), table([{ title: 'method', text: true }, { title: 'option', text: true }, { title: 'value', text: true }], options, run.command)),
    r && r.task.text ? el('details', {}, el('summary', {}, 'The task file'), el('pre', {}, r.task.text)) : null];
}

function runSections(run) {
  return [verdictSection, resultsSection, controlsSection, pictureSection, diagnosticsSection, domainsSection, recordSection].flatMap(f => f(run)).filter(Boolean);
}

/* ---- several runs ---- */

function compareSections(runs) {
  const out = [], rows = [], scored = runs.filter(r => r.results.results.length && r.results.results[0].metric);
  for (const run of scored) for (const r of run.results.results)
    rows.push([run.label, run.results.target, r.name, r.kind, r.metric, { show: rounded(r.mean, places(run.results.results, r.metric)) + (r.runs.length > 1 ? ' ± ' + rounded(r.std, places(run.results.results, r.metric)) : ''), value: r.mean },
      { show: r.verdict ? signed(r.verdict.gain) : '', value: r.verdict ? r.verdict.gain : null }, { show: verdictOf(r), value: verdictOf(r), class: verdictClass(verdictOf(r)) }]);
  const command = 'ferry report ' + runs.map(r => r.folder).join(' ');
  out.push(el('h2', {}, 'Side by side'));
  for (const metric of new Set(scored.map(r => r.results.results[0].metric))) {
    const same = scored.filter(r => r.results.results[0].metric === metric), labels = same.map(r => r.label);
    const points = same.flatMap(run => run.results.results.map(r => ({ name: r.name, run: run.label, mean: r.mean, low: r.mean - (r.std || 0), high: r.mean + (r.std || 0) }))).filter(p => Number.isFinite(p.mean));
    const methods = [...new Set(points.map(p => p.name))], digits = places(same.flatMap(run => run.results.results), metric);
    const pivot = methods.map(name => [name, ...same.map(run => {
      const r = run.results.results.find(x => x.name === name);
      return r ? { show: rounded(r.mean, digits) + (r.runs.length > 1 ? ' ± ' + rounded(r.std, digits) : ''), value: r.mean, class: verdictClass(verdictOf(r)) } : { show: '', value: null };
    })]);
    out.push(el('h3', {}, metric + ' by method and run'), table([{ title: 'method', text: true }, ...labels.map(title => ({ title }))], pivot, command),
      plot(metric + ' of every method in every run', 'The mean over the repeats, the bar one standard deviation to each side.', points, command, w => plots.pivot(w, metric, methods, labels, points)));
    const curve = same.flatMap(run => run.results.results.map(r => ({ x: run.results.visible, y: r.mean, series: r.name }))).filter(p => Number.isFinite(p.x)).sort((a, b) => a.x - b.x);
    if (new Set(curve.map(p => p.x)).size > 1) out.push(plot('Learning curve', metric + ' by how many labels of the target were visible.', curve, command, w => plots.lines(w, 'visible labels', metric, curve, true), 760));
  }
  out.push(el('details', {}, el('summary', {}, 'Every method of every run in one table'), table([{ title: 'run', text: true }, { title: 'target', text: true }, { title: 'method', text: true }, { title: 'kind', text: true }, { title: 'metric', text: true }, { title: 'mean ± std' }, { title: 'gain of transfer' }, { title: 'verdict', text: true }], rows, command)));
  const pairs = scored.flatMap(run => {
    const best = Math.max(...run.results.results.filter(r => r.verdict && Number.isFinite(r.verdict.gain)).map(r => r.verdict.gain));
    const sources = run.run ? run.run.domains.filter(d => d.role === 'source').map(d => d.name).join(' + ') : '';
    return Number.isFinite(best) && sources ? [{ row: sources, col: run.results.target, value: best, text: signed(best), sign: best < 0 ? 'minus' : 'plus' }] : [];
  });
  if (new Set(pairs.map(p => p.row + '\n' + p.col)).size > 1) out.push(plot('Source by target', 'What the best transfer method gains over what it is compared with.', pairs, command, w => plots.matrix(w, 'source', 'target', [...new Set(pairs.map(p => p.row))], [...new Set(pairs.map(p => p.col))], pairs, true), 760));
  return out;
}

/* ---- all of it ---- */

for (const [i, run] of data.runs.entries()) {
  run.command = run.run && run.run.command ? run.run.command : null;
  run.label = run.results.task + (data.runs.some((o, j) => j !== i && o.results.task === run.results.task) ? ' (' + run.folder.replace(/\/+$/, '').split('/').pop() + ')' : '');
}
const first = data.runs[0];
document.title = data.runs.map(r => r.results.task).join(', ') + ' · Ferry';
function heading(run) {
  const d = run.results;
  return [d.goal + " '" + d.target + "'", d.repeats + (d.repeats === 1 ? ' repeat' : ' repeats'), 'seed ' + d.seed, Number.isFinite(d.visible) ? d.visible + ' labels visible' : null, run.run && run.run.started ? run.run.started.slice(0, 10) : null].filter(Boolean).join(' · ');
}
if (data.runs.length === 1) {
  main.append(el('h1', {}, first.results.task), el('p', { class: 'soft' }, heading(first)), ...runSections(first));
} else {
  main.append(el('h1', {}, data.runs.length + ' runs'), ...compareSections(data.runs));
  for (const run of data.runs) main.append(el('details', {}, el('summary', {}, run.label), el('p', { class: 'soft' }, run.folder + ' · ' + heading(run)), ...runSections(run)));
}
main.append(el('p', { class: 'soft' }, 'Made by Ferry ' + data.ferry + '. This page needs no network; plots by Vega.'));
drawAll();
