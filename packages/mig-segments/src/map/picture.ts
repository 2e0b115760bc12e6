import { footprints, MEMORY_SLICES, type MigBoard } from '@pctodl/platform'
import { DEFAULT_GPUS_PER_NODE, type MappedGpu, type MappedSegment } from './deployment-map.js'

/** Maximum number of GPUs that are drawn. Further ones are only counted. */
const MAX_GPUS = 256
const SLICE = 62
const BAR = { left: 150, width: SLICE * MEMORY_SLICES, height: 30, pitch: 38 }
const TOP = 48

/** Draws a map as SVG. Each GPU is a bar with its instances along the memory slices; each model has a colour. */
export function drawMap(
  gpus: readonly MappedGpu[],
  { name, profileNames }: MigBoard,
  gpusPerNode: number = DEFAULT_GPUS_PER_NODE,
): string {
  const used = gpus.filter(({ segments }) => segments.length > 0)
  const models = [...new Set(used.flatMap(({ segments }) => segments.map(({ model }) => model)))].sort()
  const instance = ({ model, sizeGpcs, start, batchSize, processes }: MappedSegment, y: number) => {
    const x = BAR.left + start * SLICE
    const width = footprints[sizeGpcs].memorySlices * SLICE
    const what = `${model}: ${profileNames[sizeGpcs]} at ${start}, batch ${batchSize}, ${processes} processes`
    const fill = `hsl(${Math.round((360 * models.indexOf(model)) / models.length)} 70% 82%)`
    return [
      `<svg x="${x}" y="${y}" width="${width}" height="${BAR.height}"><title>${escapeXml(what)}</title>`,
      `<rect width="100%" height="100%" fill="${fill}" stroke="#7b8794"/>`,
      `<text x="4" y="13">${escapeXml(model)}</text><text x="4" y="25">${sizeGpcs}g ${batchSize}x${processes}</text></svg>`,
    ].join('')
  }
  const bars = used.slice(0, MAX_GPUS).flatMap(({ index, segments }, i) => {
    const y = TOP + i * BAR.pitch
    return [
      `<text x="24" y="${y + 19}">node ${Math.floor(index / gpusPerNode)}, GPU ${index % gpusPerNode}</text>`,
      `<rect x="${BAR.left}" y="${y}" width="${BAR.width}" height="${BAR.height}" fill="#f3f5f7" stroke="#c5ced6"/>`,
      ...segments.map((segment) => instance(segment, y)),
    ]
  })
  const more = used.length - MAX_GPUS
  const width = BAR.left + BAR.width + 24
  const height = TOP + Math.min(used.length, MAX_GPUS) * BAR.pitch + 24
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="10.5">`,
    '<rect width="100%" height="100%" fill="#ffffff"/>',
    `<text x="24" y="30" font-size="16">${used.length} x ${escapeXml(name)}${more > 0 ? `, ${more} of them not drawn` : ''}</text>`,
    ...bars,
    '</svg>\n',
  ].join('\n')
}

function escapeXml(text: string): string {
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  return text.replace(/[&<>"]/g, (letter) => names[letter]!)
}
