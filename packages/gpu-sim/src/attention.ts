import type { Layer, LayerGraph, OperatorWork } from '@pctodl/model-zoo'

/**
 * Largest number of positions at which attention has the efficiency and memory traffic that were calibrated on MaxViT's
 * windows. Each window is a matrix product smaller than one tile of the tensor units.
 */
const WINDOW = 64

/**
 * Share of the tensor peak that attention over more than `WINDOW` positions approaches for long sequences. At `HALF`
 * positions it attains half of this share. Both apply whether attention runs as one kernel or as three. Identified on
 * prefill attention of an A100 (aiconfigurator, 128 features a head, 128 to 16,384 positions; within 6 %). Faster
 * tensor units need proportionally more positions, because their exponentials are no faster. Measurements of H100, H200
 * and GB200 agree.
 */
const PEAK = 0.57
const HALF = 200
export const TENSOR_FLOP_OF_A100 = 2048

/**
 * Number of positions that each query attends to; 0 if the operator is not attention. It follows from the FLOPs and
 * element counts: each result of a matrix product with d terms takes 2 d FLOP.
 */
export function positionsOf(work: OperatorWork): number {
  if (work.operatorClass !== 'attention') return 0
  const { inputElements, outputElements } = work
  const depth = work.flops / (2 * outputElements)
  // The product of queries and keys writes more elements (the scores) than it reads. The product of scores and values
  // reads the scores. A fused kernel never writes scores to memory.
  if (inputElements < outputElements) return (2 * depth * outputElements) / inputElements
  return inputElements === 3 * outputElements ? depth / 2 : depth
}

/** Share of the tensor peak that attention attains, 0..1; null if the calibrated share for attention applies. */
export function attentionEfficiency(positions: number, tensorFlopPerClockPerSm: number): number | null {
  if (positions <= WINDOW) return null
  return (PEAK * positions) / (positions + HALF * (tensorFlopPerClockPerSm / TENSOR_FLOP_OF_A100))
}

/**
 * Returns the network with each attention as one kernel. The kernel includes scaling, masking and normalising, and its
 * scores never leave the SM. Frameworks do not fuse attention that contains learned weights, such as MaxViT's relative
 * position bias.
 *
 * @returns the same graph if it contains nothing to fuse
 */
export function withFusedAttention(graph: LayerGraph): LayerGraph {
  const readers = new Map<string, Layer[]>()
  for (const layer of graph.layers) {
    for (const input of layer.inputs) readers.set(input, [...(readers.get(input) ?? []), layer])
  }
  const gone = new Set<Layer>()
  const joined = new Map<Layer, Layer>()
  for (const scores of graph.layers) {
    if (scores.operatorClass !== 'attention' || joined.has(scores)) continue
    const between = [scores]
    let next = onlyReader(readers, scores)
    while (next && ['norm', 'elementwise', 'copy'].includes(next.operatorClass) && next.weightElements === 0) {
      between.push(next)
      next = onlyReader(readers, next)
    }
    if (next?.operatorClass !== 'attention') continue
    const last = between.at(-1)!
    joined.set(next, {
      ...next,
      inputs: [...scores.inputs, ...next.inputs.filter((name) => name !== last.name)],
      flops: scores.flops + next.flops,
      inputElements: scores.inputElements + next.inputElements - last.outputElements,
    })
    for (const layer of between) gone.add(layer)
  }
  if (gone.size === 0) return graph
  return {
    ...graph,
    layers: graph.layers.filter((layer) => !gone.has(layer)).map((layer) => joined.get(layer) ?? layer),
  }
}

function onlyReader(readers: ReadonlyMap<string, readonly Layer[]>, { name }: Layer): Layer | undefined {
  const all = readers.get(name) ?? []
  return all.length === 1 ? all[0] : undefined
}
