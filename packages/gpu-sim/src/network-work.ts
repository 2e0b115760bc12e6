import { type LayerGraph, layerGraph, type OperatorClass, type OperatorWork } from '@pctodl/model-zoo'
import { InvalidInputError, networkName, networkNames, UnknownNameError } from '@pctodl/platform'
import { positionsOf, withFusedAttention } from './attention.js'
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
 * A network's eager operators as flat arrays, one entry per distinct operator with the number of times it occurs; all
 * amounts are per sample, except the weights.
 */
export interface NetworkWork {
  readonly name: string
  readonly size: number
  /** The first so many operators have arithmetic to do, the others only move values; each part by rising working set. */
  readonly computing: number
  /** Index into `operatorClasses`. */
  readonly operatorClass: Uint8Array
  readonly occurrences: Float64Array
  readonly flops: Float64Array
  readonly elements: Float64Array
  /** The larger of input and output, elements: what L2 would have to hold. */
  readonly workingElements: Float64Array
  readonly outputElements: Float64Array
  readonly weightElements: Float64Array
  /** Positions that each query of an attention product attends to; 0 for other operators. */
  readonly positions: Float64Array
  /** The same network with each attention in one kernel; null where it has none that frameworks join. */
  readonly fused: NetworkWork | null
  readonly operators: number
  /** Working elements averaged over the operators. */
  readonly meanWorkingElements: number
  /** In half precision. */
  readonly weightBytes: number
  readonly peakActivationBytesPerSample: number
  /** Its inputs wait on the device: preparing them takes no time of a batch. */
  readonly prefetched: boolean
}

const cache = new Map<string, NetworkWork>()
const cacheOfGraphs = new WeakMap<LayerGraph, NetworkWork>()

/** Networks beside the zoo's, by the name that tenants call them. */
export type Networks = ReadonlyMap<string, NetworkWork>

/** @throws InvalidInputError for two networks of one name, or one that has a name of the zoo */
export function networksOf(graphs: readonly LayerGraph[] = []): Networks {
  const networks = new Map<string, NetworkWork>()
  for (const graph of graphs) {
    if (networks.has(graph.name) || isOfTheZoo(graph.name)) {
      throw new InvalidInputError('networks', graph.name, 'networks of different names, and not of the zoo')
    }
    let work = cacheOfGraphs.get(graph)
    if (!work) {
      work = flatten(graph)
      cacheOfGraphs.set(graph, work)
    }
    networks.set(graph.name, work)
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

/** @throws UnknownNameError for what is no network of `networks` or of the model zoo, and no microbenchmark */
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
    work = flatten(microbenchmark ?? layerGraph(name))
    cache.set(name, work)
  }
  return work
}

/**
 * The name of what a simulated board can run without being given its graph: a network of the zoo, by its name or an alias, or a microbenchmark.
 *
 * @throws UnknownNameError
 */
export function loadName(model: string): string {
  return networkWork(model).name
}

function flatten(graph: LayerGraph): NetworkWork {
  const fused = withFusedAttention(graph)
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
    fused: fused === graph ? null : flatten(fused),
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
