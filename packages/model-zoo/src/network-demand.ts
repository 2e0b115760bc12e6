import type { NetworkDemand } from '@pctodl/platform'
import type { LayerGraph } from './layer-graph.js'
import type { OperatorClass } from './work.js'

const MILLION = 1e6
const GIGA = 1e9
const computing: ReadonlySet<OperatorClass> = new Set(['conv', 'pointwise', 'depthwise', 'linear', 'attention'])

/**
 * A network in the seven numbers from which `addNetwork` of `@pctodl/perf-model` estimates what it does on a board. Operators that
 * are not known count as ones that move what they read and write.
 */
export function networkDemand({ layers, peakActivationElements }: LayerGraph): NetworkDemand {
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
  return {
    denseGflops,
    depthwiseMelements,
    computedMelements,
    movedMelements,
    weightMelements,
    kernels: layers.length,
    peakMelements,
  }
}
