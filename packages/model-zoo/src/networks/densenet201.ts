import { type Activation, GraphBuilder } from '../graph-builder.js'
import type { NetworkGraph } from '../network-graph.js'

/** Number of layers of each dense block (table 1 of the paper). */
const blockLayers = [6, 12, 48, 32] as const
/** Channels that each layer adds to the features (k of the paper). */
const GROWTH = 32
/** Number of channels of a bottleneck, in units of `GROWTH`. */
const BOTTLENECK = 4

/** DenseNet-201 (Huang et al., arXiv 1608.06993). */
export function densenet201(): NetworkGraph {
  const graph = new GraphBuilder()
  let x = graph.input()
  x = graph.conv2d('features.conv0', x, 64, { kernel: 7, stride: 2 })
  x = graph.batchNorm('features.norm0', x)
  x = graph.activation('features.relu0', 'relu', x, { inPlace: true })
  x = graph.maxPool('features.pool0', x, { kernel: 3, stride: 2, padding: 1 })
  blockLayers.forEach((layers, index) => {
    const block = index + 1
    x = denseBlock(graph, `features.denseblock${block}`, x, layers)
    if (block < blockLayers.length) x = transition(graph, `features.transition${block}`, x)
  })
  x = graph.batchNorm('features.norm5', x)
  x = graph.activation('relu', 'relu', x, { inPlace: true })
  x = graph.adaptiveAvgPool('avgpool', x, 1)
  x = graph.flatten('flatten', x)
  graph.linear('classifier', x, 1000)
  return graph.build('densenet201', { minimum: 29, multipleOf: 1 })
}

/**
 * Each layer reads the concatenation of all previous features. For the first layer there is only one tensor, which
 * eager frameworks copy.
 */
function denseBlock(graph: GraphBuilder, path: string, input: Activation, layers: number): Activation {
  const features = [input]
  for (let layer = 1; layer <= layers; layer++) {
    const layerPath = `${path}.denselayer${layer}`
    let x = graph.concat(`${layerPath}.concat`, features)
    x = graph.batchNorm(`${layerPath}.norm1`, x)
    x = graph.activation(`${layerPath}.relu1`, 'relu', x, { inPlace: true })
    x = graph.conv2d(`${layerPath}.conv1`, x, BOTTLENECK * GROWTH)
    x = graph.batchNorm(`${layerPath}.norm2`, x)
    x = graph.activation(`${layerPath}.relu2`, 'relu', x, { inPlace: true })
    x = graph.conv2d(`${layerPath}.conv2`, x, GROWTH, { kernel: 3 })
    features.push(x)
  }
  return graph.concat(`${path}.concat`, features)
}

/** Adds a transition, which halves channels, height and width. */
function transition(graph: GraphBuilder, path: string, input: Activation): Activation {
  let x = graph.batchNorm(`${path}.norm`, input)
  x = graph.activation(`${path}.relu`, 'relu', x, { inPlace: true })
  x = graph.conv2d(`${path}.conv`, x, input.channels / 2)
  return graph.avgPool(`${path}.pool`, x, { kernel: 2, stride: 2 })
}
