import type { GraphNode } from './network-graph.js'

/** Operators that a framework implements as another view of the same memory, without device work. */
export function isView(node: GraphNode): boolean {
  return node.kind === 'flatten' || node.kind === 'splitHeads'
}

/** Views, and operators that write their result over their first input. */
export function sharesFirstInput(node: GraphNode): boolean {
  return isView(node) || ('inPlace' in node.attributes && node.attributes.inPlace)
}
