import type { NetworkGraph } from './network-graph.js'
import { elementCount, type Shape } from './shapes.js'
import { owners, sharesFirstInput } from './views.js'

/** An operator, described by the memory that it reads and writes. A view writes none. */
export interface MemoryStep {
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  /** Whether the result may overwrite an input of the same size that is not needed any more. */
  readonly mayOverwrite?: boolean
}

/**
 * Largest number of elements that are needed at the same time. A tensor is needed from the step that writes it (a
 * network input: from the beginning) to the last step that reads it.
 *
 * @param kept tensors that are needed until the end
 */
export function peakElements(
  steps: readonly MemoryStep[],
  elements: (tensor: string) => number,
  kept: readonly string[] = [],
): number {
  const lastUse = new Map<string, number>()
  steps.forEach(({ reads, writes }, index) => {
    for (const tensor of [...writes, ...reads]) lastUse.set(tensor, index)
  })
  for (const tensor of kept) lastUse.set(tensor, steps.length)
  const sum = (tensors: Iterable<string>) => [...tensors].reduce((total, tensor) => total + elements(tensor), 0)
  const written = new Set(steps.flatMap(({ writes }) => writes))
  let alive = sum([...lastUse.keys()].filter((tensor) => !written.has(tensor)))
  let peak = alive
  steps.forEach(({ reads, writes, mayOverwrite = false }, index) => {
    const added = sum(writes)
    const ending = [...new Set([...reads, ...writes])].filter((tensor) => lastUse.get(tensor) === index)
    const overwrites = mayOverwrite && ending.some((tensor) => reads.includes(tensor) && elements(tensor) === added)
    peak = Math.max(peak, alive + (overwrites ? 0 : added))
    alive += added - sum(ending)
  })
  return peak
}

/**
 * Largest number of activation elements of one sample that are needed at the same time, if operators run in order.
 * Views and in-place operators share the memory of their first input. A real framework needs more, because its
 * allocator caches memory and callers keep references.
 */
export function peakActivationElements(graph: NetworkGraph, shapes: ReadonlyMap<string, Shape>): number {
  const owner = owners(graph, sharesFirstInput)
  const steps = graph.nodes.map(
    ({ id, inputs }): MemoryStep => ({
      reads: inputs.map((input) => owner.get(input)!),
      writes: owner.get(id) === id ? [id] : [],
    }),
  )
  return peakElements(steps, (id) => elementCount(shapes.get(id)!))
}
