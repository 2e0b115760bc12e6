import type { NetworkWork } from '@pctodl/platform'
import type { LayerGraph } from './layer-graph.js'
import type { OperatorClass } from './work.js'

const MILLION = 1e6
const GIGA = 1e9
/** Control-flow operators. The operators inside their branches and loops are not counted. */
const controlFlow: ReadonlySet<string> = new Set(['If', 'Loop', 'Scan', 'SequenceMap'])
const computing: ReadonlySet<OperatorClass> = new Set(['conv', 'pointwise', 'depthwise', 'linear', 'attention'])

/**
 * Computes the seven numbers from which `addNetwork` of `@pctodl/perf-model` estimates a network's speed and power on a
 * board. An operator without a work rule counts only as memory traffic: the elements that it reads and writes.
 * `unknownShare` is the fraction of all read and written elements that belong to unknown operators. It is 1 if a
 * control-flow operator is among them.
 */
export function networkWork({ layers, peakActivationElements, unknownOperators }: LayerGraph): NetworkWork {
  let denseGflops = 0
  let depthwiseMelements = 0
  let computedMelements = 0
  let movedMelements = 0
  let weightMelements = 0
  for (const { operatorClass, flops, inputElements, outputElements, weightElements } of layers) {
    const melements = (inputElements + outputElements) / MILLION
    if (computing.has(operatorClass)) computedMelements += melements
    else movedMelements += melements
    if (operatorClass === 'depthwise') depthwiseMelements += melements
    else denseGflops += flops / GIGA
    weightMelements += weightElements / MILLION
  }
  const peakMelements = peakActivationElements / MILLION
  const unknownShare = unknownOperators.reduce(
    (sum, { operator, shareOfElements }) => Math.min(1, sum + (controlFlow.has(operator) ? 1 : shareOfElements)),
    0,
  )
  return {
    denseGflops,
    depthwiseMelements,
    computedMelements,
    movedMelements,
    weightMelements,
    kernels: layers.length,
    peakMelements,
    unknownShare,
  }
}
