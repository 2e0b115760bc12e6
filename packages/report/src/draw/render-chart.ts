import { PctodlError } from '@pctodl/platform'
import type { TopLevelSpec } from 'vega-lite'
import { CHART_FONT } from './chart-style.js'
import { fontFiles } from './font-files.js'

/**
 * Draws a vega-lite chart as SVG text. Equal charts give equal text. Vega is loaded in the first call, so that commands
 * without charts start faster.
 *
 * @throws PctodlError `BAD_CHART` with Vega's error messages
 */
export function renderSvg(spec: TopLevelSpec): Promise<string> {
  const drawn = drawing.then(() => draw(spec))
  drawing = drawn.then(noop, noop)
  return drawn
}

/**
 * Resolves when all charts requested so far are drawn. Vega numbers clipping paths with one counter per process, so
 * charts are drawn one after another.
 */
let drawing: Promise<void> = Promise.resolve()
const noop = () => {}

async function draw(spec: TopLevelSpec): Promise<string> {
  const [vega, vegaLite] = await Promise.all([import('vega'), import('vega-lite')])
  // If Vega cannot read the data, it only warns and draws an empty picture. So its warnings are errors here.
  const complaints: string[] = []
  const logger = vega.logger(vega.Warn, 'warn', (_method, _level, parts) => complaints.push(parts.join(' ')))
  const view = new vega.View(vega.parse(vegaLite.compile(spec, { logger }).spec), { renderer: 'none', logger })
  try {
    vega.resetSVGDefIds()
    const svg = await view.toSVG()
    if (complaints.length > 0) throw new PctodlError('BAD_CHART', `the chart cannot be drawn: ${complaints.join('; ')}`)
    return svg
  } finally {
    view.finalize()
  }
}

/**
 * Converts an SVG to a PNG of the given width. Text uses DejaVu Sans from an npm package, so that pictures do not
 * depend on fonts of the machine.
 */
export async function renderPng(svg: string, widthPx = 1200): Promise<Uint8Array> {
  const { Resvg } = await import('@resvg/resvg-js')
  const image = new Resvg(svg, {
    fitTo: { mode: 'width', value: widthPx },
    font: { loadSystemFonts: false, fontFiles: fontFiles(), defaultFontFamily: CHART_FONT },
  }).render()
  return image.asPng()
}
