import type { Config } from 'vega-lite'

/** The typeface of the charts. `renderPng` includes its font files. */
export const CHART_FONT = 'DejaVu Sans'

/** Fonts for viewers of the SVG that lack the typeface. Verdana's letters have the same widths. */
const FALLBACK_FONTS = 'Verdana, sans-serif'

export const INK = '#222222'
export const FAINT_INK = '#666666'

/** Colour of power above the cap, and of the word `VIOLATES`. */
export const ALARM_COLOR = '#b3001b'

/**
 * Colours that people with the common colour vision deficiencies can tell apart, after Okabe and Ito ("Color Universal
 * Design", 2008). Their yellow is omitted because it is invisible on white, and their black because it marks the cap.
 * The last two colours are a grey, and the wine red of Tol's muted scheme ("Colour Schemes", SRON 2021).
 */
export const palette = ['#0072B2', '#E69F00', '#009E73', '#CC79A7', '#D55E00', '#56B4E9', '#777777', '#882255'] as const

/** Fonts, sizes and greys that all charts share. */
export const chartConfig: Config = {
  font: `${CHART_FONT}, ${FALLBACK_FONTS}`,
  background: '#ffffff',
  padding: 16,
  title: { color: INK, subtitleColor: FAINT_INK, anchor: 'start', frame: 'group' },
  view: { stroke: '#cccccc' },
  axis: {
    labelFontSize: 12,
    titleFontSize: 13,
    titleFontWeight: 'normal',
    labelColor: '#333333',
    titleColor: INK,
    gridColor: '#e8e8e8',
    domainColor: '#999999',
    tickColor: '#999999',
  },
  legend: { labelFontSize: 13, titleFontSize: 13, labelLimit: 300, labelColor: INK },
}
