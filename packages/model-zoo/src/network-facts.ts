import { type NetworkName, networkName } from '@pctodl/platform'
import { buildNetwork } from './build-network.js'
import { peakActivationElements } from './peak-activations.js'
import { operatorWork, type WorkOptions } from './work.js'

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
 * Returns those sizes of a network that determine its memory and time.
 *
 * @throws UnknownNameError listing the networks that exist.
 * @throws InvalidInputError if the network cannot take images of that size.
 */
export function networkFacts(name: string, options: WorkOptions = {}): NetworkFacts {
  const graph = buildNetwork(name)
  const work = operatorWork(graph, options)
  let flops = 0
  let activationElements = 0
  for (const operator of work) {
    flops += operator.flops
    activationElements += operator.inputElements + operator.outputElements
  }
  let [parameters, statistics] = [0, 0]
  for (const { weights, buffers } of graph.nodes) {
    for (const { elements } of weights) parameters += elements
    for (const { elements } of buffers) statistics += elements
  }
  return {
    name: networkName(name),
    parameters,
    weightBytes: (parameters + statistics) * BYTES_PER_ELEMENT,
    peakActivationBytes: peakActivationElements(graph, options) * BYTES_PER_ELEMENT,
    gflops: flops / 1e9,
    operators: work.length,
    activationElements,
  }
}
