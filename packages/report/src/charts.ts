export type { TopLevelSpec } from 'vega-lite'
export { ALARM_COLOR, chartConfig, INK, palette } from './draw/chart-style.js'
export { renderPng, renderSvg } from './draw/render-chart.js'
export { renderPdf } from './draw/render-pdf.js'
