/** What the page does: draw a chart when it is first seen, apply the filters, open everything for printing. */
export const pageScript = `
'use strict';
const specs = JSON.parse(document.getElementById('charts').textContent);
async function draw(figure) {
  if (figure.dataset.drawn) return;
  figure.dataset.drawn = 'begun';
  const view = new vega.View(vega.parse(specs[figure.dataset.chart]), { renderer: 'svg', container: figure, hover: true });
  await view.runAsync();
  figure.dataset.drawn = 'done';
}
const inSight = (figure) => !figure.closest('details:not([open])') && !figure.closest('[hidden]');
const drawVisible = () => Promise.all([...document.querySelectorAll('figure.chart')].filter(inSight).map(draw));
for (const details of document.querySelectorAll('details')) details.addEventListener('toggle', drawVisible);
const form = document.getElementById('filters');
const chosen = (name) => new Set([...form.querySelectorAll('input[name=' + name + ']:checked')].map((box) => box.value));
function filter() {
  const boards = chosen('board');
  const algorithms = chosen('algorithm');
  const violating = form.elements.violating.checked;
  for (const section of document.querySelectorAll('section[data-board]')) section.hidden = !boards.has(section.dataset.board);
  for (const row of document.querySelectorAll('tr[data-algorithm]')) {
    row.hidden = !algorithms.has(row.dataset.algorithm) || (!violating && row.classList.contains('violates'));
  }
  drawVisible();
}
form.addEventListener('change', filter);
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
  drawVisible();
});
if (location.hash) { const target = document.getElementById(location.hash.slice(1)); if (target) target.open = true; }
drawVisible();
`
