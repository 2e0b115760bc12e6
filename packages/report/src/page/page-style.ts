/** Style of the page. It prints on white, without the parts that are closed. */
export const pageStyle: string = `
:root { color-scheme: light dark; --ink: #222; --faint: #666; --ground: #fff; --line: #ddd; --alarm: #b3001b; --accent: #0072b2; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --faint: #aaa; --ground: #16181b; --line: #3a3d42; --alarm: #ff6b7d; --accent: #56b4e9; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1280px; padding: 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); }
h1 { font-size: 1.6rem; } h2 { font-size: 1.3rem; margin-top: 2rem; }
a { color: var(--accent); }
form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; }
fieldset { border: 1px solid var(--line); border-radius: 6px; padding: .2rem .8rem .4rem; }
label { margin-right: .8rem; white-space: nowrap; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0; }
caption { caption-side: bottom; text-align: left; color: var(--faint); font-size: .85rem; padding-top: .3rem; position: sticky; left: 0; max-width: min(1248px, calc(100vw - 2rem)); }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
th { font-weight: 600; vertical-align: bottom; } th:first-child, td:first-child { text-align: left; }
th.words, td.words { text-align: left; white-space: nowrap; }
tr.violates td:last-child { color: var(--alarm); font-weight: 600; }
.records { font-size: .8rem; }
details { border-top: 1px solid var(--line); padding: .3rem 0; }
summary { cursor: pointer; padding: .3rem 0; font-weight: 600; }
figure.chart { margin: .5rem 0; background: var(--ground); overflow-x: auto; min-height: 2rem; border-radius: 6px; }
figure.chart svg { max-width: 100%; height: auto; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
[hidden] { display: none !important; }
@media print {
  @page { size: A4; margin: 12mm; }
  form, .records, details:not([open]) { display: none; }
  body { max-width: none; padding: 0; font-size: 9px; line-height: 1.3; }
  h1 { font-size: 1.5rem; margin: 0; } h2 { margin-top: 1rem; }
  th, td { padding: .08rem .35rem; }
  .scroll { overflow: visible; }
  section[data-board] { break-before: page; }
  details, figure, tr { break-inside: avoid; }
  figure.chart svg { max-height: 188mm; }
}
`
