import type { GraphNode, NetworkGraph } from './network-graph.js'

/** Whether a framework implements the operator as a view of its input's memory, which takes no time on the device. */
export function isView(node: GraphNode): boolean {
  return node.kind === 'flatten' || node.kind === 'splitHeads'
}

/** Whether the operator's result is in the memory of its first input: it is a view, or it overwrites the input. */
export function sharesFirstInput(node: GraphNode): boolean {
  return isView(node) || ('inPlace' in node.attributes && node.attributes.inPlace)
}

/** Maps each node to the node in whose memory its result is, given which nodes use the memory of their first input. */
export function owners(graph: NetworkGraph, shares: (node: GraphNode) => boolean): ReadonlyMap<string, string> {
  const owner = new Map<string, string>()
  for (const node of graph.nodes) owner.set(node.id, shares(node) ? owner.get(node.inputs[0]!)! : node.id)
  return owner
}
