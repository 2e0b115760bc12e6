import { PctodlError } from '@pctodl/platform'
import type { TopLevelSpec } from 'vega-lite'
import { CHART_FONT } from './chart-style.js'
import { fontFiles } from './font-files.js'

/**
 * Draw a vega-lite chart as SVG text. The same chart gives the same text. Vega is loaded on the first call only: a command
 * line that draws nothing starts without it.
 *
 * @throws PctodlError `BAD_CHART` with vega's complaints
 */
export function renderSvg(spec: TopLevelSpec): Promise<string> {
  const drawn = drawing.then(() => draw(spec))
  drawing = drawn.then(noop, noop)
  return drawn
}

/** Charts are drawn one after the other: vega numbers clipping paths with a counter of the whole process. */
let drawing: Promise<void> = Promise.resolve()
const noop = () => {}

async function draw(spec: TopLevelSpec): Promise<string> {
  const [vega, vegaLite] = await Promise.all([import('vega'), import('vega-lite')])
  const complaints: string[] = []
  const logger = collectingLogger(complaints)
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

/** Vega draws an empty picture and warns where data cannot be read; here that is an error. */
function collectingLogger(complaints: string[]) {
  const collect = (...parts: readonly unknown[]) => {
    complaints.push(parts.map(String).join(' '))
    return logger
  }
  const ignore = () => logger
  const logger = { level: (() => logger) as never, error: collect, warn: collect, info: ignore, debug: ignore }
  return logger
}

/**
 * Turn an SVG into a PNG of the given width. Text is set in DejaVu Sans from the package of that name, so pictures do not
 * depend on the fonts of the machine.
 */
export async function renderPng(svg: string, widthPx = 1200): Promise<Uint8Array> {
  const { Resvg } = await import('@resvg/resvg-js')
  const image = new Resvg(svg, {
    fitTo: { mode: 'width', value: widthPx },
    font: { loadSystemFonts: false, fontFiles: fontFiles(), defaultFontFamily: CHART_FONT },
  }).render()
  return image.asPng()
}
