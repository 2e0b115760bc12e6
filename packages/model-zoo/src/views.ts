import type { GraphNode } from './network-graph.js'

/** Whether a framework implements the operator as a view of its input's memory, which takes no time on the device. */
export function isView(node: GraphNode): boolean {
  return node.kind === 'flatten' || node.kind === 'splitHeads'
}

/** Whether the operator's result is in the memory of its first input: it is a view, or it overwrites the input. */
export function sharesFirstInput(node: GraphNode): boolean {
  return isView(node) || ('inPlace' in node.attributes && node.attributes.inPlace)
}
