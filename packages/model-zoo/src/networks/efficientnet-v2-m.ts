import { type Activation, GraphBuilder } from '../graph-builder.js'
import type { NetworkGraph } from '../network-graph.js'
import { squeezeExcitation } from './squeeze-excitation.js'

/**
 * Stages at size M (table 4 of the paper): whether blocks are fused, expansion, stride of the first block, output
 * channels, number of blocks.
 */
const stages = [
  [true, 1, 1, 24, 3],
  [true, 4, 2, 48, 5],
  [true, 4, 2, 80, 5],
  [false, 4, 2, 160, 7],
  [false, 6, 1, 176, 14],
  [false, 6, 2, 304, 18],
  [false, 6, 1, 512, 5],
] as const

const EPSILON = 1e-3
const withSilu = { epsilon: EPSILON, activation: 'silu' } as const

interface BlockShape {
  readonly outChannels: number
  readonly expansion: number
  readonly stride: number
}

/**
 * EfficientNetV2-M (Tan and Le, arXiv 2104.00298). The authors trained it at 384 and tested it at 480 pixels; it takes
 * any size.
 */
export function efficientnetV2M(): NetworkGraph {
  const graph = new GraphBuilder()
  let x = graph.convNorm('features.0', graph.input(), 24, { ...withSilu, kernel: 3, stride: 2 })
  stages.forEach(([fused, expansion, stride, channels, blocks], stage) => {
    for (let block = 0; block < blocks; block++) {
      const path = `features.${stage + 1}.${block}`
      const shape = { outChannels: channels, expansion, stride: block === 0 ? stride : 1 }
      const result = fused ? fusedMbConv(graph, path, x, shape) : mbConv(graph, path, x, shape)
      const residual = shape.stride === 1 && x.channels === channels
      x = residual ? graph.add(`${path}.add`, result, x, { inPlace: true }) : result
    }
  })
  x = graph.convNorm(`features.${stages.length + 1}`, x, 1280, withSilu)
  x = graph.adaptiveAvgPool('avgpool', x, 1)
  x = graph.flatten('flatten', x)
  graph.linear('classifier.1', x, 1000)
  return graph.build('efficientnet_v2_m', { minimum: 1, multipleOf: 1 })
}

/**
 * Adds a block in which one dense 3x3 convolution replaces the expansion and the depthwise convolution. If the block
 * does not expand, this convolution is the whole block.
 */
function fusedMbConv(graph: GraphBuilder, path: string, input: Activation, shape: BlockShape): Activation {
  const { outChannels, expansion, stride } = shape
  const dense = { ...withSilu, kernel: 3, stride }
  if (expansion === 1) return graph.convNorm(`${path}.block.0`, input, outChannels, dense)
  const x = graph.convNorm(`${path}.block.0`, input, input.channels * expansion, dense)
  return graph.convNorm(`${path}.block.1`, x, outChannels, { epsilon: EPSILON })
}

function mbConv(graph: GraphBuilder, path: string, input: Activation, shape: BlockShape): Activation {
  const { outChannels, expansion, stride } = shape
  const hidden = input.channels * expansion
  let x = graph.convNorm(`${path}.block.0`, input, hidden, withSilu)
  x = graph.convNorm(`${path}.block.1`, x, hidden, { ...withSilu, kernel: 3, stride, groups: hidden })
  x = squeezeExcitation(graph, `${path}.block.2`, x, input.channels / 4, { inPlace: true })
  return graph.convNorm(`${path}.block.3`, x, outChannels, { epsilon: EPSILON })
}
