import type { GraphNode } from './network-graph.js'

/** Whether a framework implements the operator as a view of the same memory, without device work. */
export function isView(node: GraphNode): boolean {
  return node.kind === 'flatten' || node.kind === 'splitHeads'
}

/** Whether the operator is a view, or writes its result over its first input. */
export function sharesFirstInput(node: GraphNode): boolean {
  return isView(node) || ('inPlace' in node.attributes && node.attributes.inPlace)
}
