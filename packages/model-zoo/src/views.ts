import type { GraphNode } from './network-graph.js'

/** Operators that a framework answers with another view of the same memory, without running anything on the device. */
export function isView(node: GraphNode): boolean {
  return node.kind === 'flatten' || node.kind === 'splitHeads'
}

/** Views, and operators that write their result over their first input. */
export function sharesFirstInput(node: GraphNode): boolean {
  return isView(node) || ('inPlace' in node.attributes && node.attributes.inPlace)
}
