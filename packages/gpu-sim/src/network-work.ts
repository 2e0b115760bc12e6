import { type LayerGraph, layerGraph, type OperatorClass, type OperatorWork } from '@pctodl/model-zoo'
import { InvalidInputError, networkName, networkNames, UnknownNameError } from '@pctodl/platform'
import { positionsOf } from './attention.js'
import { microbenchmarks } from './microbenchmarks.js'

export const operatorClasses: readonly OperatorClass[] = [
  'conv',
  'pointwise',
  'depthwise',
  'linear',
  'attention',
  'norm',
  'elementwise',
  'pool',
  'concat',
  'copy',
]

/**
 * Operators of a network as flat arrays. Equal operators are one entry, with their number of occurrences. All amounts
 * except weights are per sample.
 */
export interface NetworkWork {
  readonly name: string
  /** The network's graph. Some hosts run a modified graph, which is made from this one. */
  readonly graph: LayerGraph
  readonly size: number
  /**
   * Number of operators with arithmetic. These come first; the others only move values. Each of the two parts is sorted
   * by working set.
   */
  readonly computing: number
  /** Index in `operatorClasses` for each operator. */
  readonly operatorClass: Uint8Array
  readonly occurrences: Float64Array
  readonly flops: Float64Array
  readonly elements: Float64Array
  /**
   * Elements of input or of output, whichever is larger. Whether they fit in L2 decides how much of the traffic L2
   * serves.
   */
  readonly workingElements: Float64Array
  readonly outputElements: Float64Array
  readonly weightElements: Float64Array
  /** Positions that each query of an attention operator attends to; 0 for other operators. */
  readonly positions: Float64Array
  readonly operators: number
  /** Mean of `workingElements` over the operators. */
  readonly meanWorkingElements: number
  /** Bytes of weights in half precision. */
  readonly weightBytes: number
  readonly peakActivationBytesPerSample: number
  /** Whether inputs are already on the device. Preparing them then takes no time. */
  readonly prefetched: boolean
}

const cache = new Map<string, NetworkWork>()

/** Networks besides the zoo's, by the name in a tenant's `model`. */
export type Networks = ReadonlyMap<string, NetworkWork>

/** @throws InvalidInputError for two networks of the same name, or the name of a network of the zoo */
export function networksOf(graphs: readonly LayerGraph[] = []): Networks {
  const networks = new Map<string, NetworkWork>()
  for (const graph of graphs) {
    if (networks.has(graph.name) || isOfTheZoo(graph.name)) {
      throw new InvalidInputError('networks', graph.name, 'networks of different names, and not of the zoo')
    }
    networks.set(graph.name, flattened(graph))
  }
  return networks
}

function isOfTheZoo(name: string): boolean {
  try {
    networkName(name)
    return true
  } catch {
    return false
  }
}

/** @throws UnknownNameError for a name that is neither in `networks`, nor of the model zoo, nor a microbenchmark */
export function networkWork(model: string, networks?: Networks): NetworkWork {
  const own = networks?.get(model) ?? cache.get(model)
  if (own) return own
  const microbenchmark = microbenchmarks.find(({ name }) => name === model)
  if (!microbenchmark && networks?.size && !isOfTheZoo(model)) {
    throw new UnknownNameError('network', model, [...networks.keys(), ...networkNames])
  }
  const name = microbenchmark ? model : networkName(model)
  let work = cache.get(name)
  if (!work) {
    work = flattened(microbenchmark ?? layerGraph(name))
    cache.set(name, work)
  }
  return work
}

/**
 * Returns the canonical name of a load that a simulated board can run without a given graph: a network of the zoo, by
 * name or alias, or a microbenchmark.
 *
 * @throws UnknownNameError
 */
export function loadName(model: string): string {
  return networkWork(model).name
}

/**
 * Returns a function that computes a graph's result once, and returns the stored result when called again with the same
 * graph.
 */
export function perGraph<T>(compute: (graph: LayerGraph) => T): (graph: LayerGraph) => T {
  const known = new WeakMap<LayerGraph, { readonly result: T }>()
  return (graph) => {
    const found = known.get(graph) ?? { result: compute(graph) }
    known.set(graph, found)
    return found.result
  }
}

export const flattened: (graph: LayerGraph) => NetworkWork = perGraph(flatten)

function flatten(graph: LayerGraph): NetworkWork {
  const operators = graph.layers
  const distinct = new Map<string, { index: number; count: number }>()
  operators.forEach((op, index) => {
    const key = [op.operatorClass, op.flops, op.inputElements, op.outputElements, op.weightElements].join(' ')
    const seen = distinct.get(key)
    if (seen) seen.count++
    else distinct.set(key, { index, count: 1 })
  })
  const kept = [...distinct.values()]
    .map(({ index, count }) => ({ ...operators[index]!, count }))
    .sort((a, b) => Number(b.flops > 0) - Number(a.flops > 0) || workingElements(a) - workingElements(b))
  const column = (value: (op: (typeof kept)[number]) => number) => Float64Array.from(kept, value)
  const working = column(workingElements)
  return {
    name: graph.name,
    graph,
    size: kept.length,
    computing: kept.filter((op) => op.flops > 0).length,
    operatorClass: Uint8Array.from(kept, (op) => operatorClasses.indexOf(op.operatorClass)),
    occurrences: column((op) => op.count),
    flops: column((op) => op.flops),
    elements: column((op) => op.inputElements + op.outputElements),
    workingElements: working,
    outputElements: column((op) => op.outputElements),
    weightElements: column((op) => op.weightElements),
    positions: column(positionsOf),
    operators: operators.length,
    meanWorkingElements: kept.reduce((sum, op, i) => sum + op.count * working[i]!, 0) / operators.length,
    weightBytes: 2 * graph.weightElements,
    peakActivationBytesPerSample: 2 * graph.peakActivationElements,
    prefetched: graph.prefetched ?? false,
  }
}

function workingElements({ inputElements, outputElements }: OperatorWork): number {
  return Math.max(inputElements, outputElements)
}
