import type { Config } from 'vega-lite'

/** The typeface of the charts, which `renderPng` brings along. */
export const CHART_FONT = 'DejaVu Sans'

/** For a viewer of the SVG who has not got it: Verdana is as wide. */
const FALLBACK_FONTS = 'Verdana, sans-serif'

export const INK = '#222222'
export const FAINT_INK = '#666666'

/** What lies above the cap, and the word `VIOLATES`. */
export const ALARM_COLOR = '#b3001b'

/**
 * Colours by Okabe and Ito ("Color Universal Design", 2008), distinct under the common colour vision deficiencies; without
 * their yellow, which vanishes on white, and without black, which is the cap's; grey, and the wine red of Tol's muted scheme
 * ("Colour Schemes", SRON 2021), come last.
 */
export const palette = ['#0072B2', '#E69F00', '#009E73', '#CC79A7', '#D55E00', '#56B4E9', '#777777', '#882255'] as const

/** Fonts, sizes and greys that the charts have in common. */
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
