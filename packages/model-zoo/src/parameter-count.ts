import type { NetworkGraph } from './network-graph.js'

/** Number of learned parameters, without the statistics of batch norms. */
export function parameterCount(graph: NetworkGraph): number {
  let count = 0
  for (const node of graph.nodes) for (const weight of node.weights) count += weight.elements
  return count
}
