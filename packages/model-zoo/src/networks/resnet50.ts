import { type Activation, GraphBuilder } from '../graph-builder.js'
import type { NetworkGraph } from '../network-graph.js'

/**
 * For each stage: bottleneck width, number of blocks, and stride of the first block. A block's output has 4 times as
 * many channels as its bottleneck.
 */
const stages = [
  [64, 3, 1],
  [128, 4, 2],
  [256, 6, 2],
  [512, 3, 2],
] as const

const EXPANSION = 4

/**
 * ResNet-50 (He et al., arXiv 1512.03385) in torchvision's variant: in a bottleneck with a stride, the 3x3 convolution
 * has the stride.
 */
export function resnet50(): NetworkGraph {
  const graph = new GraphBuilder()
  let x = graph.input()
  x = graph.conv2d('conv1', x, 64, { kernel: 7, stride: 2 })
  x = graph.batchNorm('bn1', x)
  x = graph.activation('relu', 'relu', x, { inPlace: true })
  x = graph.maxPool('maxpool', x, { kernel: 3, stride: 2, padding: 1 })
  stages.forEach(([width, blocks, stride], stage) => {
    for (let block = 0; block < blocks; block++) {
      x = bottleneck(graph, `layer${stage + 1}.${block}`, x, width, block === 0 ? stride : 1)
    }
  })
  x = graph.adaptiveAvgPool('avgpool', x, 1)
  x = graph.flatten('flatten', x)
  graph.linear('fc', x, 1000)
  return graph.build('resnet50', { minimum: 1, multipleOf: 1 })
}

function bottleneck(graph: GraphBuilder, path: string, input: Activation, width: number, stride: number): Activation {
  const outChannels = width * EXPANSION
  let x = graph.conv2d(`${path}.conv1`, input, width)
  x = graph.batchNorm(`${path}.bn1`, x)
  x = graph.activation(`${path}.relu1`, 'relu', x, { inPlace: true })
  x = graph.conv2d(`${path}.conv2`, x, width, { kernel: 3, stride })
  x = graph.batchNorm(`${path}.bn2`, x)
  x = graph.activation(`${path}.relu2`, 'relu', x, { inPlace: true })
  x = graph.conv2d(`${path}.conv3`, x, outChannels)
  x = graph.batchNorm(`${path}.bn3`, x)
  let shortcut = input
  if (stride !== 1 || input.channels !== outChannels) {
    shortcut = graph.conv2d(`${path}.downsample.0`, input, outChannels, { stride })
    shortcut = graph.batchNorm(`${path}.downsample.1`, shortcut)
  }
  x = graph.add(`${path}.add`, x, shortcut, { inPlace: true })
  return graph.activation(`${path}.relu3`, 'relu', x, { inPlace: true })
}
