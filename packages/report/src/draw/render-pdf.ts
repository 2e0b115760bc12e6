import { CHART_FONT } from './chart-style.js'
import { fontFiles } from './font-files.js'

/** PDF points per centimetre. */
const POINTS_PER_CM = 72 / 2.54

/**
 * Converts an SVG to a PDF with one page that is as large as the picture. Text remains text, in DejaVu Sans. Equal SVGs
 * give equal bytes.
 *
 * @param widthCm width of the page, cm; the height follows from the picture's proportions
 */
export async function renderPdf(svg: string, widthCm: number): Promise<Uint8Array> {
  const [{ default: PDFDocument }, { default: drawSvg }] = await Promise.all([
    import('pdfkit'),
    import('svg-to-pdfkit'),
  ])
  const [, width, height] = /<svg[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg)!.map(Number) as [
    number,
    number,
    number,
  ]
  const scale = (widthCm * POINTS_PER_CM) / width
  const document = new PDFDocument({
    size: [width * scale, height * scale],
    margin: 0,
    // A fixed date, because the current time would make every file different.
    info: { CreationDate: new Date(0), Producer: 'pctodl', Creator: 'pctodl' },
  })
  const parts: Buffer[] = []
  const ended = new Promise<void>((resolve, reject) => document.on('end', resolve).on('error', reject))
  document.on('data', (part: Buffer) => parts.push(part))
  const [regular, bold] = fontFiles()
  document.registerFont(CHART_FONT, regular!)
  document.registerFont(`${CHART_FONT} bold`, bold!)
  // Without the picture's own size, which is in pixels, the picture fills the page.
  drawSvg(
    document,
    svg.replace(/^<svg[^>]*>/, (tag) => tag.replace(/ (?:width|height)="[^"]*"/g, '')),
    0,
    0,
    {
      width: width * scale,
      height: height * scale,
      fontCallback: (_family: string, isBold: boolean) => (isBold ? `${CHART_FONT} bold` : CHART_FONT),
    },
  )
  document.end()
  await ended
  return new Uint8Array(Buffer.concat(parts))
}
