import type { Layer, LayerGraph } from '@pctodl/model-zoo'

const HEADS = 32
const FEATURES = 128
const POSITIONS = 2048
const COPIED_ELEMENTS = 2 ** 27
const keysAndValues = 2 * HEADS * POSITIONS * FEATURES

/**
 * Loads of `pctodl prove` besides the networks of the zoo: matrix products, attention (32 heads of 128 features over
 * 2048 positions, for a whole prompt and for one token), a copy, and an encoder of 12 layers. The shapes equal those in
 * `pctodl_resident_networks.py` of `@pctodl/tenants`.
 */
export const microbenchmarks: readonly LayerGraph[] = [
  graph('gemm_8192', [layer('linear', 2 * 8192 ** 3, 8192 ** 2, 8192 ** 2, 8192 ** 2)]),
  graph('gemm_1024', [layer('linear', 2 * 1024 ** 3, 1024 ** 2, 1024 ** 2, 1024 ** 2)]),
  graph('attention_prefill', [
    layer('attention', 4 * HEADS * POSITIONS ** 2 * FEATURES, 1.5 * keysAndValues, 0.5 * keysAndValues),
  ]),
  graph('attention_decode', [layer('attention', 2 * keysAndValues, keysAndValues, HEADS * FEATURES)]),
  // The class `pool` moves each value once, as a streaming copy does. The class `copy` does not fit: it stands for
  // permutations, with traffic fitted to MaxViT.
  graph('stream_copy', [layer('pool', 0, COPIED_ELEMENTS, COPIED_ELEMENTS)]),
  graph('transformer', Array.from({ length: 12 }, () => encoderLayer(128, 768)).flat()),
]

function encoderLayer(positions: number, features: number): Layer[] {
  const values = positions * features
  const product = (from: number, to: number) =>
    layer('linear', 2 * positions * from * to, positions * from, positions * to, from * to)
  return [
    product(features, 3 * features),
    layer('attention', 4 * positions ** 2 * features, 3 * values, values),
    product(features, features),
    layer('elementwise', 0, 2 * values, values),
    layer('norm', 0, values, values, 2 * features),
    product(features, 4 * features),
    layer('elementwise', 0, 4 * values, 4 * values),
    product(4 * features, features),
    layer('elementwise', 0, 2 * values, values),
    layer('norm', 0, values, values, 2 * features),
  ]
}

function layer(
  operatorClass: Layer['operatorClass'],
  flops: number,
  inputElements: number,
  outputElements: number,
  weightElements = 0,
): Layer {
  const work = { operatorClass, flops, inputElements, outputElements, weightElements }
  return { ...work, name: operatorClass, operator: operatorClass, inputs: [], outputShape: [outputElements] }
}

function graph(name: string, layers: readonly Layer[]): LayerGraph {
  const weightElements = layers.reduce((sum, each) => sum + each.weightElements, 0)
  return {
    name,
    layers,
    parameters: weightElements,
    weightElements,
    peakActivationElements: Math.max(...layers.map((each) => each.inputElements + each.outputElements)),
    prefetched: true,
    unknownOperators: [],
  }
}
