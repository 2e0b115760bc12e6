import type { Layer, LayerGraph, OperatorClass } from '@pctodl/model-zoo'

/** Dosovitskiy et al. 2020 and DeiT at 224 pixels in patches of 16: width, heads, blocks. */
const shapes: Readonly<Record<string, readonly [width: number, heads: number, blocks: number]>> = {
  tiny: [192, 3, 12],
  small: [384, 6, 12],
  base: [768, 12, 12],
  large: [1024, 16, 24],
}

/** The timm names that are such networks, layer by layer. */
export function visionTransformer(name: string): LayerGraph | null {
  const [, size] = /^(?:vit|deit)_(tiny|small|base|large)_patch16_224$/.exec(name) ?? []
  return size === undefined ? null : graphs.get(size)!
}

const graphs = new Map(Object.entries(shapes).map(([size, shape]) => [size, build(`vit_${size}`, ...shape)]))

/** Under automatic mixed precision: norms and sums of the residual stream in single precision count twice, and are cast before a product. */
function build(name: string, width: number, heads: number, blocks: number): LayerGraph {
  const tokens = 197
  const stream = tokens * width
  const scores = heads * tokens * tokens
  const layers: Layer[] = []
  let last = 'input'
  const add = (operatorClass: OperatorClass, flops: number, input: number, output: number, weights = 0) => {
    const layer = { name: `${layers.length}`, operator: operatorClass, inputs: [last], outputShape: [1, output] }
    layers.push({
      ...layer,
      operatorClass,
      flops,
      inputElements: input,
      outputElements: output,
      weightElements: weights,
    })
    last = layer.name
  }
  const linear = (from: number, to: number) =>
    add('linear', 2 * tokens * from * to, tokens * from, tokens * to, (from + 1) * to)
  const norm = () => {
    add('norm', 0, 2 * stream, 2 * stream, 2 * width)
    add('copy', 0, 2 * stream, stream)
  }
  add('conv', 2 * 196 * width * 768, 3 * 224 * 224, 196 * width, 769 * width)
  add('elementwise', 0, stream, 2 * stream, stream)
  for (let block = 0; block < blocks; block++) {
    norm()
    linear(width, 3 * width)
    add('attention', 2 * tokens * tokens * width, 2 * stream, scores)
    add('elementwise', 0, scores, scores)
    add('norm', 0, scores, 2 * scores)
    add('copy', 0, 2 * scores, scores)
    add('attention', 2 * tokens * tokens * width, scores + stream, stream)
    linear(width, width)
    add('elementwise', 0, 3 * stream, 2 * stream)
    norm()
    linear(width, 4 * width)
    add('elementwise', 0, 4 * stream, 4 * stream)
    linear(4 * width, width)
    add('elementwise', 0, 3 * stream, 2 * stream)
  }
  norm()
  add('linear', 2 * width * 1000, width, 1000, (width + 1) * 1000)
  const weightElements = layers.reduce((sum, layer) => sum + layer.weightElements, 0)
  return {
    name,
    layers,
    parameters: weightElements,
    weightElements,
    peakActivationElements: 10 * stream,
    unknownOperators: [],
  }
}
