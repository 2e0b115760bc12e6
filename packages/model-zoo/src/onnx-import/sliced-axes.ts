import { axisOf, fail, type NodeReading } from './node-reading.js'

export interface SlicedAxis {
  readonly axis: number
  /** Selected positions of the input along this axis, in order. */
  readonly positions: number[]
}

/**
 * Positions that a `Slice` selects, by axis. Axes that it leaves whole are absent.
 *
 * @throws Unknown if its bounds are not known before the model runs
 */
export function slicedAxes(node: NodeReading): SlicedAxis[] {
  const shape = node.shape(0)
  const starts = node.list('starts', 1) ?? fail()
  const ends = node.list('ends', 2) ?? fail()
  const axes = node.list('axes', 3) ?? starts.map((_, i) => i)
  const steps = node.has(4) ? node.values(4) : starts.map(() => 1)
  return axes.map((each, i) => {
    const axis = axisOf(each, shape.length)
    return { axis, positions: slicedPositions(shape[axis]!, starts[i]!, ends[i]!, steps[i]!) }
  })
}

/** Positions that a slice selects along an axis. Bounds beyond the axis are moved to its ends. */
function slicedPositions(size: number, start: number, end: number, step: number): number[] {
  const clamp = (index: number, low: number, high: number) =>
    Math.min(high, Math.max(low, index < 0 ? index + size : index))
  const from = step > 0 ? clamp(start, 0, size) : clamp(start, 0, size - 1)
  const to = step > 0 ? clamp(end, 0, size) : end < -size ? -1 : clamp(end, -1, size - 1)
  const count = Math.max(0, Math.ceil((to - from) / step))
  return Array.from({ length: count }, (_, i) => from + i * step)
}
