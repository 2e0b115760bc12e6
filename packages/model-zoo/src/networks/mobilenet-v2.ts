import { type Activation, GraphBuilder } from '../graph-builder.js'
import type { NetworkGraph } from '../network-graph.js'

/** Stages (table 2 of the paper): expansion, output channels, number of blocks, stride of the first block. */
const stages = [
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
] as const

const withRelu6 = { activation: 'relu6' } as const

/** MobileNetV2 at width 1.0 (Sandler et al., arXiv 1801.04381). */
export function mobilenetV2(): NetworkGraph {
  const graph = new GraphBuilder()
  let x = graph.convNorm('features.0', graph.input(), 32, { ...withRelu6, kernel: 3, stride: 2 })
  let feature = 1
  for (const [expansion, channels, blocks, stride] of stages) {
    for (let block = 0; block < blocks; block++) {
      x = invertedResidual(graph, `features.${feature++}`, x, channels, expansion, block === 0 ? stride : 1)
    }
  }
  x = graph.convNorm(`features.${feature}`, x, 1280, withRelu6)
  x = graph.adaptiveAvgPool('avgpool', x, 1)
  x = graph.flatten('flatten', x)
  graph.linear('classifier.1', x, 1000)
  return graph.build('mobilenet_v2', { minimum: 1, multipleOf: 1 })
}

function invertedResidual(
  graph: GraphBuilder,
  path: string,
  input: Activation,
  outChannels: number,
  expansion: number,
  stride: number,
): Activation {
  const hidden = input.channels * expansion
  let layer = 0
  let x = input
  if (expansion !== 1) x = graph.convNorm(`${path}.conv.${layer++}`, x, hidden, withRelu6)
  x = graph.convNorm(`${path}.conv.${layer++}`, x, hidden, { ...withRelu6, kernel: 3, stride, groups: hidden })
  x = graph.convNorm(`${path}.conv`, x, outChannels, { first: layer })
  return stride === 1 && input.channels === outChannels ? graph.add(`${path}.add`, input, x) : x
}
