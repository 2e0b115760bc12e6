import type { Layer, LayerGraph, OperatorClass } from '@pctodl/model-zoo'

/** Kind, FLOP, elements in and out, weights: of one sample. */
type Work = readonly [OperatorClass, flops: number, input: number, output: number, weights: number]

/** A convolution from `from` x `from` x `inputs` to `to` x `to` x `outputs`, and its activation. */
function convolution(from: number, inputs: number, outputs: number, kernel: number, to: number, groups = 1): Work[] {
  const weights = outputs * (inputs / groups) * kernel * kernel
  const output = to * to * outputs
  return [
    [kernel === 1 ? 'pointwise' : 'conv', 2 * to * to * weights, from * from * inputs, output, weights + outputs],
    ['elementwise', 0, output, output, 0],
  ]
}

const pool = (from: number, channels: number, to: number): Work[] => {
  return [['pool', 0, from * from * channels, to * to * channels, 0]]
}

const linear = (inputs: number, outputs: number): Work[] => {
  return [['linear', 2 * inputs * outputs, inputs, outputs, (inputs + 1) * outputs]]
}

function graph(name: string, works: readonly Work[]): LayerGraph {
  const layers = works.map(([operatorClass, flops, inputElements, outputElements, weightElements], i): Layer => {
    const inputs = [i === 0 ? 'input' : `${i - 1}`]
    const amounts = { flops, inputElements, outputElements, weightElements }
    return {
      name: `${i}`,
      operator: operatorClass,
      inputs,
      outputShape: [1, outputElements],
      operatorClass,
      ...amounts,
    }
  })
  const weightElements = works.reduce((sum, work) => sum + work[4], 0)
  const peakActivationElements = Math.max(...works.map((work) => work[2] + work[3]))
  return { name, layers, parameters: weightElements, weightElements, peakActivationElements, unknownOperators: [] }
}

/** Krizhevsky, Sutskever and Hinton 2012, its normalisations left out. */
export const alexnet: LayerGraph = graph('alexnet', [
  ...convolution(224, 3, 96, 11, 55),
  ...pool(55, 96, 27),
  ...convolution(27, 96, 256, 5, 27, 2),
  ...pool(27, 256, 13),
  ...convolution(13, 256, 384, 3, 13),
  ...convolution(13, 384, 384, 3, 13, 2),
  ...convolution(13, 384, 256, 3, 13, 2),
  ...pool(13, 256, 6),
  ...linear(9216, 4096),
  ...linear(4096, 4096),
  ...linear(4096, 1000),
])

/** SSD at 300 pixels on VGG-16 (arXiv 1512.02325), 81 classes, without the sorting of boxes. */
export const ssd: LayerGraph = graph('ssd', [
  ...convolution(300, 3, 64, 3, 300),
  ...convolution(300, 64, 64, 3, 300),
  ...pool(300, 64, 150),
  ...convolution(150, 64, 128, 3, 150),
  ...convolution(150, 128, 128, 3, 150),
  ...pool(150, 128, 75),
  ...convolution(75, 128, 256, 3, 75),
  ...convolution(75, 256, 256, 3, 75),
  ...convolution(75, 256, 256, 3, 75),
  ...pool(75, 256, 38),
  ...convolution(38, 256, 512, 3, 38),
  ...convolution(38, 512, 512, 3, 38),
  ...convolution(38, 512, 512, 3, 38),
  ...pool(38, 512, 19),
  ...[1, 2, 3].flatMap(() => convolution(19, 512, 512, 3, 19)),
  ...convolution(19, 512, 1024, 3, 19),
  ...convolution(19, 1024, 1024, 1, 19),
  ...convolution(19, 1024, 256, 1, 19),
  ...convolution(19, 256, 512, 3, 10),
  ...convolution(10, 512, 128, 1, 10),
  ...convolution(10, 128, 256, 3, 5),
  ...convolution(5, 256, 128, 1, 5),
  ...convolution(5, 128, 256, 3, 3),
  ...convolution(3, 256, 128, 1, 3),
  ...convolution(3, 128, 256, 3, 1),
  ...(
    [
      [38, 512, 4],
      [19, 1024, 6],
      [10, 512, 6],
      [5, 256, 6],
      [3, 256, 4],
      [1, 256, 4],
    ] as const
  ).flatMap(([size, channels, boxes]) => [
    ...convolution(size, channels, 4 * boxes, 3, size),
    ...convolution(size, channels, 81 * boxes, 3, size),
  ]),
])
