import { type NetworkWork, operatorClasses } from './network-work.js'

const converted = ['conv', 'pointwise'].map((name) => operatorClasses.indexOf(name as 'conv' | 'pointwise'))

const cache = new WeakMap<NetworkWork, NetworkWork>()

/**
 * A network whose convolutions are each followed by a copy of the result into the framework's layout: read once,
 * written once. Rows of timm's benchmark for the same network in both layouts show one copy per convolution on an RTX
 * 3090; two would cost twice as much.
 */
export function withLayoutCopies(work: NetworkWork): NetworkWork {
  let copying = cache.get(work)
  if (!copying) {
    copying = insertCopies(work)
    cache.set(work, copying)
  }
  return copying
}

function insertCopies(work: NetworkWork): NetworkWork {
  const of = Array.from({ length: work.size }, (_, i) => i)
  const sources = of.slice(0, work.computing).filter((i) => converted.includes(work.operatorClass[i]!))
  // Of the operators without arithmetic, pooling moves exactly the minimum.
  const kind = operatorClasses.indexOf('pool')
  const rows = [
    ...of.map((i) => ({ i, copy: false, working: work.workingElements[i]! })),
    ...sources.map((i) => ({ i, copy: true, working: work.outputElements[i]! })),
  ]
  const moving = rows.slice(work.computing).sort((a, b) => a.working - b.working)
  const kept = [...rows.slice(0, work.computing), ...moving]
  const column = (own: Float64Array, ofCopy: (i: number) => number) =>
    Float64Array.from(kept, ({ i, copy }) => (copy ? ofCopy(i) : own[i]!))
  const result = (i: number) => work.outputElements[i]!
  const occurrences = column(work.occurrences, (i) => work.occurrences[i]!)
  const workingElements = column(work.workingElements, result)
  const operators = occurrences.reduce((sum, count) => sum + count, 0)
  return {
    ...work,
    size: kept.length,
    operatorClass: Uint8Array.from(kept, ({ i, copy }) => (copy ? kind : work.operatorClass[i]!)),
    occurrences,
    flops: column(work.flops, () => 0),
    elements: column(work.elements, (i) => 2 * result(i)),
    workingElements,
    outputElements: column(work.outputElements, result),
    weightElements: column(work.weightElements, () => 0),
    positions: column(work.positions, () => 0),
    fused: null,
    operators,
    meanWorkingElements: occurrences.reduce((sum, count, i) => sum + count * workingElements[i]!, 0) / operators,
  }
}
