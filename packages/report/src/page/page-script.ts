import { ALARM_COLOR, INK } from '../charts.js'
import { FAINT_INK } from '../draw/chart-style.js'

/**
 * Colours of charts on a dark background, by the colour that they replace on a light background. The colours of
 * algorithms are the same on both.
 */
export const inTheDark: Readonly<Record<string, string>> = {
  '#ffffff': '#16181b',
  '#000000': '#f2f2f2',
  [INK]: '#e6e6e6',
  [FAINT_INK]: '#aaaaaa',
  '#333333': '#cccccc',
  '#999999': '#777777',
  '#cccccc': '#4a4d52',
  '#e8e8e8': '#2b2e33',
  [ALARM_COLOR]: '#ff6b7d',
}

/**
 * Script of the page. It draws a chart when the chart first becomes visible, for the chosen algorithms and background,
 * and filters tables and charts. The page prints on white, without the parts that are closed.
 */
export const pageScript: string = `
'use strict';
const { charts, algorithms, inTheDark } = JSON.parse(document.getElementById('charts').textContent);
const form = document.getElementById('filters');
const chosen = (name) => new Set([...form.querySelectorAll('input[name=' + name + ']:checked')].map((box) => box.value));
const dark = matchMedia('(prefers-color-scheme: dark)');
let printing = false;

/** The chart reduced to some algorithms: their data, colours and strips. */
function reduced(spec, keep, violating) {
  const known = new Set(algorithms);
  const isList = (value) => Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string' && known.has(each));
  const strips = new Set();
  const visit = (node) => {
    if (Array.isArray(node)) {
      if (isList(node)) return node.filter((name) => keep.has(name));
      return node
        .filter((each) => !(each && typeof each === 'object' && known.has(each.algorithm) && (!keep.has(each.algorithm) || (!violating && each.holds === false))))
        .filter((each) => !(each && each.type === 'group' && strips.has(each.name)))
        .map(visit);
    }
    if (node === null || typeof node !== 'object') return node;
    const copy = {};
    for (const [key, value] of Object.entries(node)) copy[key] = visit(value);
    // Colours only: the range of a position is its two ends.
    if (isList(node.domain) && Array.isArray(node.range) && node.range.every((each) => typeof each === 'string')) copy.range = node.range.filter((_, i) => keep.has(node.domain[i]));
    return copy;
  };
  const marked = spec.usermeta && spec.usermeta.strips;
  if (marked) {
    marked.forEach((name, i) => { if (!keep.has(name)) strips.add('concat_' + i + '_group'); });
    const left = marked.findIndex((name) => keep.has(name));
    const copy = visit(spec);
    const first = copy.marks.find(({ name }) => name === 'concat_' + left + '_group');
    const heading = spec.marks.find(({ name }) => name === 'concat_0_group').title;
    if (first && heading) first.title = heading;
    return copy;
  }
  return visit(spec);
}

const coloured = (spec) => dark.matches && !printing
  ? JSON.parse(JSON.stringify(spec).replace(/#[0-9a-f]{6}/gi, (colour) => inTheDark[colour.toLowerCase()] || colour))
  : spec;

const views = new Map();
async function draw(figure) {
  const keep = chosen('algorithm');
  const state = [...keep].join() + form.elements.violating.checked + (dark.matches && !printing);
  if (figure.dataset.state === state) return;
  figure.dataset.state = state;
  figure.dataset.drawn = 'begun';
  const before = views.get(figure);
  if (before) before.finalize();
  const spec = coloured(reduced(charts[figure.dataset.chart], keep, form.elements.violating.checked));
  const view = new vega.View(vega.parse(spec), { renderer: 'svg', container: figure, hover: true });
  views.set(figure, view);
  await view.runAsync();
  if (views.get(figure) === view) figure.dataset.drawn = 'done';
}
const inSight = (figure) => !figure.closest('details:not([open])') && !figure.closest('[hidden]');
const drawVisible = () => Promise.all([...document.querySelectorAll('figure.chart')].filter(inSight).map(draw));
for (const details of document.querySelectorAll('details')) details.addEventListener('toggle', drawVisible);
function filter() {
  const boards = chosen('board');
  const shown = chosen('algorithm');
  const violating = form.elements.violating.checked;
  for (const section of document.querySelectorAll('section[data-board]')) section.hidden = !boards.has(section.dataset.board);
  for (const row of document.querySelectorAll('tr[data-algorithm]')) {
    row.hidden = !shown.has(row.dataset.algorithm) || (!violating && row.classList.contains('violates'));
  }
  drawVisible();
}
form.addEventListener('change', filter);
dark.addEventListener('change', drawVisible);
addEventListener('beforeprint', () => { printing = true; drawVisible(); });
addEventListener('afterprint', () => { printing = false; drawVisible(); });
if (location.hash) { const target = document.getElementById(location.hash.slice(1)); if (target) target.open = true; }
drawVisible();
`
