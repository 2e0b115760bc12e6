import type { MappedGpu } from '@pctodl/mig-deploy'
import type { PlannedGpu, PlannedSegment } from '../segment-plan.js'
import type { ServiceDemand } from '../service-demand.js'
import { SIZES, sizeIndex } from '../solve/size-counts.js'
import type { Located } from './migration.js'
import { type Layout, type PackedSegment, packBeside, type Wanted } from './pack-beside.js'

/** Segments by service and size; those of other services are not counted. */
export function countsOf(gpus: readonly MappedGpu[], served: readonly ServiceDemand[]): Int32Array {
  const row = new Map(served.map(({ objective }, m) => [objective.model, m]))
  const counts = new Int32Array(served.length * SIZES)
  for (const { segments } of gpus) {
    for (const { model, sizeGpcs } of segments) {
      const m = row.get(model)
      if (m !== undefined && served[m]!.best.has(sizeGpcs)) counts[m * SIZES + sizeIndex[sizeGpcs]]!++
    }
  }
  return counts
}

/** Place segments so that they come to the target, by service and size, with what runs now where it is. */
export function layoutFor(
  current: readonly MappedGpu[],
  served: readonly ServiceDemand[],
  target: Int32Array,
  maxGpus: number,
): Layout {
  const { kept, wanted } = stayAndCome(current, served, target)
  return packBeside(kept, wanted, maxGpus)
}

/**
 * The same beside everything that runs now: what is to go keeps its place until then, so each service can be given its new segments before an
 * old one goes. It takes more GPUs.
 */
export function layoutBeside(
  current: readonly MappedGpu[],
  served: readonly ServiceDemand[],
  target: Int32Array,
): Layout {
  const { kept, wanted } = stayAndCome(current, served, target)
  const all: Layout = new Map(
    current.map(({ index, segments }) => [
      index,
      segments.map(({ model, sizeGpcs, start }) => ({ model, sizeGpcs, start })),
    ]),
  )
  const layout = packBeside(all, wanted, Number.POSITIVE_INFINITY)
  for (const [gpu, staying] of kept) {
    const gone = current.find(({ index }) => index === gpu)!.segments
    const stays = (start: number) => staying.some((segment) => segment.start === start)
    layout.set(
      gpu,
      layout.get(gpu)!.filter(({ start }) => stays(start) || !gone.some((segment) => segment.start === start)),
    )
  }
  return layout
}

/** What stays where it is, and what is to be created. */
function stayAndCome(
  current: readonly MappedGpu[],
  served: readonly ServiceDemand[],
  target: Int32Array,
): { kept: Layout; wanted: Wanted[] } {
  const left = target.slice()
  const row = new Map(served.map(({ objective }, m) => [objective.model, m]))
  const kept: Layout = new Map()
  // Segments on full GPUs stay first, so that what goes empties the others.
  const byFill = [...current].sort((a, b) => gpcsIn(b.segments) - gpcsIn(a.segments) || a.index - b.index)
  for (const { index, segments } of byFill) {
    const staying: PackedSegment[] = []
    for (const { model, sizeGpcs, start } of segments) {
      const m = row.get(model)
      if (m === undefined || left[m * SIZES + sizeIndex[sizeGpcs]]! === 0) continue
      left[m * SIZES + sizeIndex[sizeGpcs]]!--
      staying.push({ model, sizeGpcs, start })
    }
    kept.set(index, staying)
  }
  const wanted: Wanted[] = []
  served.forEach(({ objective: { model }, best }, m) => {
    for (const sizeGpcs of best.keys()) {
      for (let i = left[m * SIZES + sizeIndex[sizeGpcs]]!; i > 0; i--) wanted.push({ model, sizeGpcs })
    }
  })
  return { kept, wanted }
}

function gpcsIn(segments: MappedGpu['segments']): number {
  return segments.reduce((sum, { sizeGpcs }) => sum + sizeGpcs, 0)
}

/** A map of segments with their GPUs. */
export function gpusOf(located: readonly Located[]): PlannedGpu[] {
  const byGpu = new Map<number, PlannedSegment[]>()
  for (const { gpu, segment } of located) byGpu.set(gpu, [...(byGpu.get(gpu) ?? []), segment])
  return [...byGpu]
    .map(([index, segments]) => ({ index, segments: segments.sort((a, b) => a.start - b.start) }))
    .sort((a, b) => a.index - b.index)
}
