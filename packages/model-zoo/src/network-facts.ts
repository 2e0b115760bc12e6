import { type NetworkName, networkName } from '@pctodl/platform'
import { layerGraph } from './layer-graph.js'
import type { WorkOptions } from './work.js'

/** Bytes per element in half precision, which all memory figures use. */
const BYTES_PER_ELEMENT = 2

export interface NetworkFacts {
  readonly name: NetworkName
  /** Learned parameters. */
  readonly parameters: number
  /** Bytes of parameters and batch-norm statistics, in half precision. */
  readonly weightBytes: number
  /** Bytes per sample of the largest set of activations that are needed at the same time, in half precision. */
  readonly peakActivationBytes: number
  /** Arithmetic per sample, 1e9 FLOP. A multiply-accumulate counts as two. */
  readonly gflops: number
  /** Number of operators that launch a kernel. */
  readonly operators: number
  /** Activation elements read and written per sample, summed over the operators. */
  readonly activationElements: number
}

/**
 * Returns the sizes of a network that determine its memory and time.
 *
 * @throws UnknownNameError listing the networks that exist.
 * @throws InvalidInputError if the network cannot take images of that size.
 */
export function networkFacts(name: string, options: WorkOptions = {}): NetworkFacts {
  const { layers, parameters, weightElements, peakActivationElements } = layerGraph(name, options)
  const sum = (value: (layer: (typeof layers)[number]) => number) => layers.reduce((all, each) => all + value(each), 0)
  return {
    name: networkName(name),
    parameters,
    weightBytes: weightElements * BYTES_PER_ELEMENT,
    peakActivationBytes: peakActivationElements * BYTES_PER_ELEMENT,
    gflops: sum(({ flops }) => flops) / 1e9,
    operators: layers.length,
    activationElements: sum(({ inputElements, outputElements }) => inputElements + outputElements),
  }
}
