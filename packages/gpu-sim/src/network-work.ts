import { buildNetwork, networkFacts, type OperatorClass, type OperatorWork, operatorWork } from '@pctodl/model-zoo'
import { type NetworkName, networkName } from '@pctodl/platform'

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
  readonly name: NetworkName
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
  readonly operators: number
  /** Working elements averaged over the operators. */
  readonly meanWorkingElements: number
  readonly weightBytes: number
  readonly peakActivationBytesPerSample: number
}

const cache = new Map<NetworkName, NetworkWork>()

/** @throws UnknownNameError for a network that the model zoo does not have */
export function networkWork(model: string): NetworkWork {
  const name = networkName(model)
  let work = cache.get(name)
  if (!work) {
    work = flatten(name)
    cache.set(name, work)
  }
  return work
}

function flatten(name: NetworkName): NetworkWork {
  const operators = operatorWork(buildNetwork(name))
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
  const facts = networkFacts(name)
  return {
    name,
    size: kept.length,
    computing: kept.filter((op) => op.flops > 0).length,
    operatorClass: Uint8Array.from(kept, (op) => operatorClasses.indexOf(op.operatorClass)),
    occurrences: column((op) => op.count),
    flops: column((op) => op.flops),
    elements: column((op) => op.inputElements + op.outputElements),
    workingElements: working,
    outputElements: column((op) => op.outputElements),
    weightElements: column((op) => op.weightElements),
    operators: operators.length,
    meanWorkingElements: kept.reduce((sum, op, i) => sum + op.count * working[i]!, 0) / operators.length,
    weightBytes: facts.weightBytes,
    peakActivationBytesPerSample: facts.peakActivationBytes,
  }
}

function workingElements({ inputElements, outputElements }: OperatorWork): number {
  return Math.max(inputElements, outputElements)
}
