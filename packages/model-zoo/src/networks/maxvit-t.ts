import { type Activation, GraphBuilder } from '../graph-builder.js'
import type { NetworkGraph } from '../network-graph.js'
import { partitionAttention } from './partition-attention.js'
import { squeezeExcitation } from './squeeze-excitation.js'

/**
 * Channels and number of layers of each block at size T (table 1 of the paper). The first layer of each block halves
 * height and width.
 */
const blocks = [
  [64, 2],
  [128, 2],
  [256, 5],
  [512, 2],
] as const

const EXPANSION = 4
const SQUEEZE = 1 / 4
const PARTITION = 7
const EPSILON = 1e-3
const withGelu = { epsilon: EPSILON, activation: 'gelu' } as const

/**
 * MaxViT-T (Tu et al., arXiv 2204.01697). The height and width of its four feature maps are a quarter to a
 * thirty-second of the input's. Each map is cut into windows of 7 x 7, so the input's height and width must be
 * multiples of 224.
 */
export function maxvitT(): NetworkGraph {
  const graph = new GraphBuilder()
  let x = graph.convNorm('stem.0', graph.input(), 64, { ...withGelu, kernel: 3, stride: 2 })
  x = graph.conv2d('stem.1.0', x, 64, { kernel: 3, bias: true })
  blocks.forEach(([channels, layers], block) => {
    for (let layer = 0; layer < layers; layer++) {
      const path = `blocks.${block}.layers.${layer}.layers`
      x = mbConv(graph, `${path}.MBconv`, x, channels, layer === 0 ? 2 : 1)
      x = partitionAttention(graph, `${path}.window_attention`, x, { size: PARTITION, layout: 'window' })
      x = partitionAttention(graph, `${path}.grid_attention`, x, { size: PARTITION, layout: 'grid' })
    }
  })
  x = graph.adaptiveAvgPool('classifier.0', x, 1)
  x = graph.flatten('classifier.1', x)
  x = graph.layerNorm('classifier.2', x)
  x = graph.linear('classifier.3', x, x.channels)
  x = graph.activation('classifier.4', 'tanh', x)
  graph.linear('classifier.5', x, 1000, false)
  return graph.build('maxvit_t', { minimum: 32 * PARTITION, multipleOf: 32 * PARTITION })
}

/** Unlike in EfficientNet's block of the same name, expansion and squeeze are relative to the output channels. */
function mbConv(graph: GraphBuilder, path: string, input: Activation, outChannels: number, stride: number): Activation {
  let shortcut = input
  if (stride !== 1 || input.channels !== outChannels) {
    if (stride !== 1) shortcut = graph.avgPool(`${path}.proj.0`, input, { kernel: 3, stride, padding: 1 })
    shortcut = graph.conv2d(`${path}.proj.${stride === 1 ? 0 : 1}`, shortcut, outChannels, { bias: true })
  }
  const hidden = outChannels * EXPANSION
  let x = graph.batchNorm(`${path}.layers.pre_norm`, input, EPSILON)
  x = graph.convNorm(`${path}.layers.conv_a`, x, hidden, withGelu)
  x = graph.convNorm(`${path}.layers.conv_b`, x, hidden, { ...withGelu, kernel: 3, stride, groups: hidden })
  x = squeezeExcitation(graph, `${path}.layers.squeeze_excitation`, x, outChannels * SQUEEZE, { inPlace: false })
  x = graph.conv2d(`${path}.layers.conv_c`, x, outChannels, { bias: true })
  return graph.add(`${path}.add`, shortcut, x)
}
