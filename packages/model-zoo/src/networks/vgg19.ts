import { GraphBuilder } from '../graph-builder.js'
import type { NetworkGraph } from '../network-graph.js'

/** Output channels of the 3x3 convolutions of each stage. A 2x2 max pool ends a stage. */
const stages = [
  [64, 64],
  [128, 128],
  [256, 256, 256, 256],
  [512, 512, 512, 512],
  [512, 512, 512, 512],
] as const

/** VGG-19, configuration E without batch norm (Simonyan and Zisserman, arXiv 1409.1556). */
export function vgg19(): NetworkGraph {
  const graph = new GraphBuilder()
  let x = graph.input()
  let layer = 0
  for (const stage of stages) {
    for (const channels of stage) {
      x = graph.conv2d(`features.${layer++}`, x, channels, { kernel: 3, bias: true })
      x = graph.activation(`features.${layer++}`, 'relu', x, { inPlace: true })
    }
    x = graph.maxPool(`features.${layer++}`, x, { kernel: 2, stride: 2 })
  }
  // At 224 x 224 pixels the map is already 7 x 7, so this pool changes nothing, but a framework still runs it.
  x = graph.adaptiveAvgPool('avgpool', x, 7)
  x = graph.flatten('flatten', x, 7 * 7)
  x = graph.linear('classifier.0', x, 4096)
  x = graph.activation('classifier.1', 'relu', x, { inPlace: true })
  x = graph.linear('classifier.3', x, 4096)
  x = graph.activation('classifier.4', 'relu', x, { inPlace: true })
  graph.linear('classifier.6', x, 1000)
  return graph.build('vgg19', { minimum: 32, multipleOf: 1 })
}
