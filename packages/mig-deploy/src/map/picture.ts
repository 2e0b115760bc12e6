import { MEMORY_SLICES } from '@pctodl/platform'
import { footprints, type MigBoard } from '../mig-geometry.js'
import { DEFAULT_GPUS_PER_NODE, type MappedGpu, type MappedSegment } from './deployment-map.js'

export interface PictureOptions {
  readonly gpusPerNode?: number
  /** GPUs drawn at most; the rest is counted. Default 256. */
  readonly maxGpus?: number
}

const SLICE = 62
const BAR = { width: SLICE * MEMORY_SLICES, height: 30, gap: 8, label: 52 }
const NODE = { width: BAR.label + BAR.width, title: 26, gap: 28 }
const MARGIN = 24
const FONT = 'Inter, "Helvetica Neue", Arial, sans-serif'
const INK = '#1f2933'
const FAINT = '#66737f'

/** Fills on which dark text can be read, also by the colour-blind in pairs. */
const fills = [
  '#a6cee3',
  '#fdbf6f',
  '#b2df8a',
  '#fb9a99',
  '#cab2d6',
  '#ffe699',
  '#8dd3c7',
  '#d9d9d9',
  '#80b1d3',
  '#fccde5',
  '#ccebc5',
  '#e5c494',
]

/** A drawing of a deployment map as SVG: nodes, their GPUs, and the instances and services along the memory slices of each. */
export function drawMap(gpus: readonly MappedGpu[], board: MigBoard, options: PictureOptions = {}): string {
  const { gpusPerNode = DEFAULT_GPUS_PER_NODE, maxGpus = 256 } = options
  const used = gpus.filter(({ segments }) => segments.length > 0)
  const drawn = used.slice(0, maxGpus)
  const models = [...new Set(used.flatMap(({ segments }) => segments.map(({ model }) => model)))].sort()
  const fillOf = (model: string) => fills[models.indexOf(model) % fills.length]!
  const nodes = [...byNode(drawn, gpusPerNode)]
  const columns = Math.max(1, Math.min(3, nodes.length))
  const width = 2 * MARGIN + columns * NODE.width + (columns - 1) * NODE.gap
  const parts: string[] = []
  let y = MARGIN + 20
  const segments = used.reduce((sum, gpu) => sum + gpu.segments.length, 0)
  parts.push(text(MARGIN, y, `${used.length} x ${board.name}, ${segments} segments`, 17, INK, 'font-weight="600"'))
  y += 16
  const legend = drawLegend(models, fillOf, MARGIN, y, width - 2 * MARGIN)
  parts.push(...legend.parts)
  y = legend.bottom + 12
  for (let row = 0; row < nodes.length; row += columns) {
    let bottom = y
    nodes.slice(row, row + columns).forEach(([node, ofNode], column) => {
      const x = MARGIN + column * (NODE.width + NODE.gap)
      parts.push(...drawNode(node, ofNode, board, gpusPerNode, fillOf, x, y))
      bottom = Math.max(bottom, y + NODE.title + ofNode.length * (BAR.height + BAR.gap))
    })
    y = bottom + 12
  }
  if (drawn.length < used.length) {
    parts.push(text(MARGIN, y + 8, `and ${used.length - drawn.length} GPUs more`, 13, FAINT))
    y += 24
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y + MARGIN - 8}" ` +
      `viewBox="0 0 ${width} ${y + MARGIN - 8}" font-family='${FONT}' role="img" aria-label="deployment map">`,
    '<rect width="100%" height="100%" fill="#ffffff"/>',
    ...parts,
    '</svg>\n',
  ].join('\n')
}

function drawNode(
  node: number,
  gpus: readonly MappedGpu[],
  board: MigBoard,
  gpusPerNode: number,
  fillOf: (model: string) => string,
  x: number,
  y: number,
): string[] {
  const parts = [text(x, y + 14, `node ${node}`, 13, INK, 'font-weight="600"')]
  for (let slice = 0; slice < MEMORY_SLICES; slice++) {
    parts.push(text(x + BAR.label + slice * SLICE + 4, y + NODE.title - 4, String(slice), 9, FAINT))
  }
  gpus.forEach(({ index, segments }, i) => {
    const top = y + NODE.title + i * (BAR.height + BAR.gap)
    parts.push(text(x, top + 19, `GPU ${index % gpusPerNode}`, 12, FAINT))
    const left = x + BAR.label
    parts.push(
      `<rect x="${left}" y="${top}" width="${BAR.width}" height="${BAR.height}" rx="4" fill="#f3f5f7" stroke="#c5ced6"/>`,
    )
    for (const segment of segments) parts.push(...drawSegment(segment, board, fillOf(segment.model), left, top))
  })
  return parts
}

function drawSegment(segment: MappedSegment, board: MigBoard, fill: string, left: number, top: number): string[] {
  const { model, sizeGpcs, start, batchSize, processes } = segment
  const x = left + start * SLICE + 1
  const width = footprints[sizeGpcs].memorySlices * SLICE - 2
  const profile = board.profileNames[sizeGpcs]
  const run = `${sizeGpcs}g ${batchSize}x${processes}`
  return [
    `<g><title>${escapeXml(`${model}: ${profile} at ${start}, batch ${batchSize}, ${processes} processes`)}</title>`,
    `<rect x="${x}" y="${top + 1}" width="${width}" height="${BAR.height - 2}" rx="3" fill="${fill}" stroke="#7b8794"/>`,
    text(x + 4, top + 13, fitted(model, width - 6, 10.5), 10.5, INK),
    text(x + 4, top + 25, fitted(run, width - 6, 9), 9, '#3e4c59'),
    '</g>',
  ]
}

function drawLegend(
  models: readonly string[],
  fillOf: (model: string) => string,
  left: number,
  top: number,
  width: number,
): { parts: string[]; bottom: number } {
  const parts: string[] = []
  let x = left
  let y = top
  for (const model of models) {
    const wide = 34 + model.length * 7.2
    if (x > left && x + wide > left + width) {
      x = left
      y += 20
    }
    parts.push(`<rect x="${x}" y="${y}" width="12" height="12" rx="2" fill="${fillOf(model)}" stroke="#7b8794"/>`)
    parts.push(text(x + 17, y + 10.5, model, 12, INK))
    x += wide
  }
  return { parts, bottom: y + 20 }
}

/** A text cut to a width, which is estimated from the mean width of a letter. */
function fitted(content: string, width: number, size: number): string {
  const letters = Math.floor(width / (0.68 * size))
  return content.length <= letters ? content : `${content.slice(0, Math.max(1, letters - 1))}…`
}

function text(x: number, y: number, content: string, size: number, fill: string, more = ''): string {
  return `<text x="${x}" y="${y}" font-size="${size}" fill="${fill}" ${more}>${escapeXml(content)}</text>`
}

function escapeXml(content: string): string {
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  return content.replace(/[&<>"]/g, (letter) => names[letter]!)
}

/** GPUs by node. */
function byNode(gpus: readonly MappedGpu[], gpusPerNode: number): Map<number, MappedGpu[]> {
  const nodes = new Map<number, MappedGpu[]>()
  for (const gpu of gpus) {
    const node = Math.floor(gpu.index / gpusPerNode)
    nodes.set(node, [...(nodes.get(node) ?? []), gpu])
  }
  return nodes
}
