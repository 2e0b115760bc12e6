import { layerGraph } from '../src/index.js'

/** Bytes per element in half precision. */
const BYTES_PER_ELEMENT = 2

/** Sums over the layers of a network; memory in half precision. */
export function networkFacts(
  name: string,
  options: { readonly inputSize?: number } = {},
): Record<
  'parameters' | 'weightBytes' | 'peakActivationBytes' | 'gflops' | 'operators' | 'activationElements',
  number
> {
  const { layers, parameters, weightElements, peakActivationElements } = layerGraph(name, options)
  const sum = (value: (layer: (typeof layers)[number]) => number) => layers.reduce((all, each) => all + value(each), 0)
  return {
    parameters,
    weightBytes: weightElements * BYTES_PER_ELEMENT,
    peakActivationBytes: peakActivationElements * BYTES_PER_ELEMENT,
    gflops: sum(({ flops }) => flops) / 1e9,
    operators: layers.length,
    activationElements: sum(({ inputElements, outputElements }) => inputElements + outputElements),
  }
}
