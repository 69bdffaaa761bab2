/* The live page: /stats every two seconds. Everything is made with createElement and textContent, so that no name in the
 * data can become markup. Vega, the palette and the look of plots come from the report's files, which stand before this one. */
const main = document.querySelector('main');
const all = {};

function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) e.setAttribute(key, value);
  for (const c of children.flat()) if (c !== null && c !== undefined) e.append(c);
  return e;
}
function percent(x) { return Number.isFinite(x) ? (100 * x).toFixed(x < 0.1 ? 2 : 1) + ' %' : 'none yet'; }
function time(x) { return Number.isFinite(x) ? (x < 0.001 ? (1e6 * x).toFixed(0) + ' µs' : x < 1 ? (1e3 * x).toFixed(x < 0.01 ? 2 : 1) + ' ms' : x.toFixed(2) + ' s') : 'none'; }
function count(x) { return Number.isFinite(x) ? x.toLocaleString('en') : 'none'; }
function real(x) { return Number.isFinite(x) ? Number(x.toPrecision(3)).toString() : 'n/a'; }

/* ---- plots: lines over the last minutes ---- */

function lineSpec(width, title, series) {
  return base(width, 170, {
    data: [{ name: 'rows', values: [] }],
    scales: [
      { name: 'x', type: 'linear', domain: { data: 'rows', field: 'minutes' }, range: 'width', zero: false },
      { name: 'y', type: 'linear', domain: { data: 'rows', field: 'value' }, range: 'height', zero: true, nice: true },
      { name: 'colour', type: 'ordinal', domain: series, range: palette }
    ],
    axes: [
      { scale: 'x', orient: 'bottom', title: 'minutes from now', tickCount: 5 },
      { scale: 'y', orient: 'left', title, grid: true, tickCount: 4 }
    ],
    legends: series.length > 1 ? [{ stroke: 'colour', title: null, orient: 'top', symbolType: 'stroke', columns: width < 480 ? 2 : 4 }] : [],
    marks: [{
      type: 'group', from: { facet: { name: 'one', data: 'rows', groupby: 'series' } },
      marks: [{ type: 'line', from: { data: 'one' }, encode: { update: { x: { scale: 'x', field: 'minutes' }, y: { scale: 'y', field: 'value' }, stroke: { scale: 'colour', field: 'series' }, strokeWidth: { value: 2 } } } }]
    }]
  });
}

/* A figure whose rows are replaced; what it shows now also stands below it as a sentence. */
function figure(key, title, axis) {
  const box = el('div', { class: 'plot', role: 'img', 'aria-labelledby': 'cap-' + key, 'aria-describedby': 'now-' + key });
  all[key] = { box, axis, words: el('p', { class: 'soft', id: 'now-' + key }), width: 0, view: null, series: '' };
  return el('figure', { id: key }, el('figcaption', { id: 'cap-' + key }, title), box, all[key].words);
}

function show(key, rows, words) {
  const p = all[key], width = Math.floor(Math.min(p.box.clientWidth || 480, 900)), series = [...new Set(rows.map(r => r.series))];
  p.words.textContent = rows.length ? words : 'Nothing to show yet.';
  if (!rows.length || width < 40) return;
  if (!p.view || p.width !== width || p.series !== series.join('\n')) {
    if (p.view) p.view.finalize();
    p.width = width;
    p.series = series.join('\n');
    p.view = new vega.View(vega.parse(lineSpec(width, p.axis, series), null, { ast: true }), { expr: vega.expr, renderer: 'svg', container: p.box, hover: false });
  }
  p.view.data('rows', rows);
  p.view.runAsync().then(() => { p.box.setAttribute('data-drawn', '1'); });
}

/* ---- the page's parts ---- */

const heading = el('h1', {}, 'Ferry'), state = el('p', { class: 'soft', role: 'status', 'aria-live': 'polite' }, 'Loading.');
const pause = el('button', { type: 'button', 'aria-pressed': 'false' }, 'Pause');
const tiles = el('dl', { class: 'tiles' }), versions = el('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Models' });
const drift = el('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Drift of the inputs' }), errors = el('ol', { class: 'errors' });
main.append(heading, el('p', {}, pause), state, tiles,
  el('div', { class: 'grid' },
    figure('mistakes', 'Mistakes on the labels that came back', 'share of the last 1,000'),
    figure('weights', 'Weights of the experts', 'weight'),
    figure('requests', 'Requests a second', 'requests'),
    figure('latency', 'How long answers take', 'milliseconds'),
    figure('waiting', 'Instances that wait for a label', 'instances')),
  el('h2', {}, 'Models'), versions, el('h2', {}, 'Drift of the inputs'), drift, el('h2', {}, 'Last errors'), errors);

function tile(name, key, value) { return el('div', {}, el('dt', {}, name), el('dd', { id: 'tile-' + key }, value)); }

function table(head, rows) {
  return el('table', {}, el('thead', {}, el('tr', {}, head.map(h => el('th', { scope: 'col' }, h)))),
    el('tbody', {}, rows.map(r => el('tr', {}, r.map((c, i) => el(i ? 'td' : 'th', i ? { class: c.length > 20 ? 'text' : null } : { scope: 'row' }, c))))));
}

function versionRow(v) {
  const a = v.against;
  const against = a && Number.isFinite(a.fewer_mistakes) ? 'fewer mistakes by ' + (100 * a.fewer_mistakes).toFixed(2) + ' points [' + (100 * a.low).toFixed(2) + ', ' + (100 * a.high).toFixed(2) + '] on ' + count(a.labels) + ' labels' : '';
  return [v.model, String(v.version), v.shadow ? 'shadow' : v.current ? 'serves' : 'kept', v.method, count(v.rows), v.learns ? count(v.learned) : 'does not learn', percent(v.mistake_rate), against];
}

function driftPart(d) {
  if (!d || !d.known) return el('p', { class: 'soft' }, 'The model does not know what its training data looked like, or has too many features.');
  if (!d.features.length) return el('p', { class: 'soft' }, 'No rows yet.');
  return table(['feature', 'mean now', 'at fit', 'moved by (standard deviations)', 'missing now', 'at fit'],
    d.features.map(f => [f.feature, real(f.mean), real(f.trained), (f.shift > 0 ? '+' : '') + real(f.shift) + (Math.abs(f.shift) > 0.5 ? ' (!)' : ''), percent(f.missing), percent(f.missing_trained)]));
}

/* ---- refreshing ---- */

function render(d) {
  const end = d.seconds.length ? d.seconds[d.seconds.length - 1] : null, current = d.versions.filter(v => v.current);
  const over = (key, series, factor) => d.seconds.filter(s => Number.isFinite(s[key])).map(s => ({ minutes: (s.at - end.at) / 60, series, value: s[key] * (factor || 1) }));
  const last = d.seconds.slice(-10), rate = last.length ? last.reduce((n, s) => n + s.requests, 0) / last.length : 0;
  const slow = [...d.seconds].reverse().find(s => Number.isFinite(s.p50)) || {};
  const shown = current.find(v => v.learns) || current[0] || {};
  document.title = 'Ferry: ' + [...new Set(d.versions.map(v => v.model))].join(', ');
  heading.textContent = document.title;
  tiles.replaceChildren(
    tile('mistakes, last 1,000 labels', 'mistakes', percent(shown.mistake_rate)), tile('labels', 'labels', count(shown.labels)), tile('waiting for a label', 'waiting', count(shown.waiting)),
    tile('requests a second', 'rate', rate.toFixed(rate < 10 ? 1 : 0)), tile('requests', 'requests', count(d.requests)), tile('half of them within', 'p50', time(slow.p50)),
    tile('99 of 100 within', 'p99', time(slow.p99)), tile('errors', 'errors', count(d.errors)), tile('connections', 'connections', count(d.connections)));
  show('mistakes', over('mistakes', 'mistakes'), 'Now ' + percent(shown.mistake_rate) + ' of ' + count(shown.labels) + ' labels so far.');
  show('requests', over('requests', 'requests').concat(d.errors ? over('errors', 'errors') : []), 'In the last ten seconds ' + rate.toFixed(1) + ' a second.');
  show('latency', ['p50', 'p90', 'p99'].flatMap(k => over(k, { p50: 'median', p90: '90 %', p99: '99 %' }[k], 1000)), 'Median ' + time(slow.p50) + ', 90 % ' + time(slow.p90) + ', 99 % ' + time(slow.p99) + '.');
  show('waiting', shown.learns ? over('waiting', 'waiting') : [], 'Now ' + count(shown.waiting) + '.');
  show('weights', d.parts.flatMap((name, i) => d.seconds.filter(s => Number.isFinite(s.weights[i])).map(s => ({ minutes: (s.at - end.at) / 60, series: name, value: s.weights[i] }))),
    d.parts.map((name, i) => name + ' ' + real(end && end.weights[i])).join(', ') + '.');
  all.weights.box.parentElement.hidden = !d.parts.length;
  versions.replaceChildren(table(['model', 'version', 'state', 'method', 'rows', 'labels learned', 'mistakes', 'against the one that serves'], d.versions.map(versionRow)));
  drift.replaceChildren(driftPart(shown.drift));
  errors.replaceChildren(...(d.last_errors.length ? d.last_errors.map(e => { const [at, ...rest] = e.split(' '); return el('li', {}, el('time', {}, new Date(1000 * at).toLocaleTimeString('en-GB')), ' ' + rest.join(' ')); }) : [el('li', { class: 'soft' }, 'none')]));
  state.textContent = 'Ferry ' + d.ferry + ', up since ' + new Date(1000 * d.started).toLocaleString('en-GB') + '.';
}

let paused = false;
async function refresh() {
  if (paused) return;
  try {
    const r = await fetch('/stats');
    if (!r.ok) throw new Error('the server answers ' + r.status);
    render(await r.json());
    document.body.classList.remove('gone');
  } catch (e) {
    state.textContent = 'The numbers are old: ' + e.message + '.';
    document.body.classList.add('gone');
  }
}
pause.addEventListener('click', () => { paused = !paused; pause.setAttribute('aria-pressed', String(paused)); pause.textContent = paused ? 'Go on' : 'Pause'; refresh(); });
window.addEventListener('resize', refresh);
refresh();
setInterval(refresh, 2000);
