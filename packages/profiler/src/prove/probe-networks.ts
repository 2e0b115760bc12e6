import type { BackendOptions } from '@pctodl/backend'

type SimulatedBoard = NonNullable<NonNullable<BackendOptions['simulated']>['board']>
type LayerGraph = NonNullable<SimulatedBoard['networks']>[number]
type Layer = LayerGraph['layers'][number]

/** One microbenchmark: a tenant of this name repeats it, and one of its samples is this much work in half precision. */
export interface Probe {
  readonly name: string
  readonly batchSize: number
  readonly flop: number
  readonly bytes: number
}

/** Shapes as in `pctodl_resident_networks.py`: attention has 32 heads of 128 features over 2048 positions. */
const HEADS = 32
const FEATURES = 128
const POSITIONS = 2048
const COPIED_ELEMENTS = 2 ** 27
const keysAndValues = 2 * HEADS * POSITIONS * FEATURES

export const probes: readonly Probe[] = [
  { name: 'gemm_8192', batchSize: 1, flop: 2 * 8192 ** 3, bytes: 6 * 8192 ** 2 },
  { name: 'gemm_1024', batchSize: 128, flop: 2 * 1024 ** 3, bytes: 6 * 1024 ** 2 },
  {
    name: 'attention_prefill',
    batchSize: 8,
    flop: 4 * HEADS * POSITIONS ** 2 * FEATURES,
    bytes: 4 * keysAndValues,
  },
  {
    name: 'attention_decode',
    batchSize: 64,
    flop: 2 * keysAndValues,
    bytes: 2 * keysAndValues,
  },
  { name: 'stream_copy', batchSize: 8, flop: 0, bytes: 4 * COPIED_ELEMENTS },
]

/** Tenants of the mixes beside the seven networks: an encoder of 12 layers, 768 features, 128 positions. */
export const TRANSFORMER = 'transformer'

/** The same work for a simulated board, which computes nothing. */
export const probeGraphs: readonly LayerGraph[] = [
  graph('gemm_8192', [layer('linear', 2 * 8192 ** 3, 8192 ** 2, 8192 ** 2, 8192 ** 2)]),
  graph('gemm_1024', [layer('linear', 2 * 1024 ** 3, 1024 ** 2, 1024 ** 2, 1024 ** 2)]),
  graph('attention_prefill', [layer('attention', probes[2]!.flop, 1.5 * keysAndValues, 0.5 * keysAndValues)]),
  graph('attention_decode', [layer('attention', probes[3]!.flop, keysAndValues, HEADS * FEATURES)]),
  graph('stream_copy', [layer('copy', 0, COPIED_ELEMENTS, COPIED_ELEMENTS)]),
  graph(TRANSFORMER, Array.from({ length: 12 }, () => encoderLayer(128, 768)).flat()),
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
