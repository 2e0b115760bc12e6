import { type Activation, type ConvOptions, GraphBuilder } from '../graph-builder.js'
import type { NetworkGraph } from '../network-graph.js'

/** Figure 7 of the paper, without squeeze and excitation: output channels, kernel, stride of the first block, expansion, blocks. */
const stacks = [
  { channels: 24, kernel: 3, stride: 2, expansion: 3, blocks: 3 },
  { channels: 40, kernel: 5, stride: 2, expansion: 3, blocks: 3 },
  { channels: 80, kernel: 5, stride: 2, expansion: 6, blocks: 3 },
  { channels: 96, kernel: 3, stride: 1, expansion: 6, blocks: 2 },
  { channels: 192, kernel: 5, stride: 2, expansion: 6, blocks: 4 },
  { channels: 320, kernel: 3, stride: 1, expansion: 6, blocks: 1 },
] as const

/** MNASNet-B1 at depth multiplier 1.0 (Tan et al., arXiv 1807.11626). */
export function mnasnet1_0(): NetworkGraph {
  const graph = new GraphBuilder()
  let x = convNorm(graph, 'layers', 0, graph.input(), 32, { kernel: 3, stride: 2 })
  x = graph.activation('layers.2', 'relu', x, { inPlace: true })
  x = convNorm(graph, 'layers', 3, x, 32, { kernel: 3, groups: 32 })
  x = graph.activation('layers.5', 'relu', x, { inPlace: true })
  x = convNorm(graph, 'layers', 6, x, 16, {})
  stacks.forEach(({ channels, kernel, stride, expansion, blocks }, stack) => {
    for (let block = 0; block < blocks; block++) {
      const depthwise = { kernel, stride: block === 0 ? stride : 1 }
      x = invertedResidual(graph, `layers.${8 + stack}.${block}`, x, channels, expansion, depthwise)
    }
  })
  x = convNorm(graph, 'layers', 14, x, 1280, {})
  x = graph.activation('layers.16', 'relu', x, { inPlace: true })
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
  let x = convNorm(graph, `${path}.layers`, 0, input, hidden, {})
  x = graph.activation(`${path}.layers.2`, 'relu', x, { inPlace: true })
  x = convNorm(graph, `${path}.layers`, 3, x, hidden, { ...depthwise, groups: hidden })
  x = graph.activation(`${path}.layers.5`, 'relu', x, { inPlace: true })
  x = convNorm(graph, `${path}.layers`, 6, x, outChannels, {})
  return depthwise.stride === 1 && input.channels === outChannels ? graph.add(`${path}.add`, x, input) : x
}

/** A convolution at index `layer` of a sequence, followed by its batch norm. */
function convNorm(
  graph: GraphBuilder,
  path: string,
  layer: number,
  input: Activation,
  outChannels: number,
  options: ConvOptions,
): Activation {
  return graph.batchNorm(`${path}.${layer + 1}`, graph.conv2d(`${path}.${layer}`, input, outChannels, options))
}
