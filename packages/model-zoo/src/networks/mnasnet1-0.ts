import { type Activation, GraphBuilder } from '../graph-builder.js'
import type { NetworkGraph } from '../network-graph.js'

/**
 * Stacks without squeeze and excitation (figure 7 of the paper): output channels, kernel, stride of the first block,
 * expansion, number of blocks.
 */
const stacks = [
  [24, 3, 2, 3, 3],
  [40, 5, 2, 3, 3],
  [80, 5, 2, 6, 3],
  [96, 3, 1, 6, 2],
  [192, 5, 2, 6, 4],
  [320, 3, 1, 6, 1],
] as const

/** MNASNet-B1 at depth multiplier 1.0 (Tan et al., arXiv 1807.11626). */
export function mnasnet1_0(): NetworkGraph {
  const graph = new GraphBuilder()
  let x = graph.convNorm('layers', graph.input(), 32, { kernel: 3, stride: 2, activation: 'relu' })
  x = graph.convNorm('layers', x, 32, { first: 3, kernel: 3, groups: 32, activation: 'relu' })
  x = graph.convNorm('layers', x, 16, { first: 6 })
  stacks.forEach(([channels, kernel, stride, expansion, blocks], stack) => {
    for (let block = 0; block < blocks; block++) {
      const depthwise = { kernel, stride: block === 0 ? stride : 1 }
      x = invertedResidual(graph, `layers.${8 + stack}.${block}`, x, channels, expansion, depthwise)
    }
  })
  x = graph.convNorm('layers', x, 1280, { first: 14, activation: 'relu' })
  x = graph.spatialMean('mean', x)
  graph.linear('classifier.1', x, 1000)
  return graph.build('mnasnet1_0', { minimum: 1, multipleOf: 1 })
}

function invertedResidual(
  graph: GraphBuilder,
  path: string,
  input: Activation,
  outChannels: number,
  expansion: number,
  depthwise: { kernel: number; stride: number },
): Activation {
  const hidden = input.channels * expansion
  let x = graph.convNorm(`${path}.layers`, input, hidden, { activation: 'relu' })
  x = graph.convNorm(`${path}.layers`, x, hidden, { ...depthwise, first: 3, groups: hidden, activation: 'relu' })
  x = graph.convNorm(`${path}.layers`, x, outChannels, { first: 6 })
  return depthwise.stride === 1 && input.channels === outChannels ? graph.add(`${path}.add`, x, input) : x
}
