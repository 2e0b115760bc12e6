export { renderPng, renderSvg } from './render-chart.js'
export { compileChart, vegaForBrowsers } from './interactive-chart.js'
export { ALARM_COLOR, CHART_FONT, chartConfig, FAINT_INK, INK, palette } from './chart-style.js'
export type { TopLevelSpec } from 'vega-lite'
