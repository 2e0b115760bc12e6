import type { NetworkGraph } from './network-graph.js'
import { elementCount, inferShapes } from './shapes.js'
import { sharesFirstInput } from './views.js'
import type { WorkOptions } from './work.js'

/**
 * Largest number of simultaneously live activation elements for one sample, with operators in order. A tensor lives
 * from the operator that writes it to the last one that reads it; views and in-place operators share the memory of
 * their first input. A framework's allocator holds more, because it caches and callers keep references.
 */
export function peakActivationElements(graph: NetworkGraph, { inputSize = 224 }: WorkOptions = {}): number {
  const shapes = inferShapes(graph, { batch: 1, height: inputSize, width: inputSize })
  const owner = new Map<string, string>()
  const lastUse = new Map<string, number>()
  graph.nodes.forEach((node, index) => {
    const shared = sharesFirstInput(node) ? owner.get(node.inputs[0] ?? '') : undefined
    owner.set(node.id, shared ?? node.id)
    for (const id of [node.id, ...node.inputs]) lastUse.set(owner.get(id) ?? id, index)
  })
  let alive = 0
  let peak = 0
  graph.nodes.forEach((node, index) => {
    if (owner.get(node.id) === node.id) alive += elementCount(shapes.get(node.id) ?? [])
    peak = Math.max(peak, alive)
    for (const id of new Set([node.id, ...node.inputs].map((each) => owner.get(each) ?? each))) {
      if (lastUse.get(id) === index) alive -= elementCount(shapes.get(id) ?? [])
    }
  })
  return peak
}
