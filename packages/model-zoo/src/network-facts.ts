import { type NetworkName, networkName } from '@pctodl/platform'
import { buildNetwork } from './build-network.js'
import { peakActivationElements } from './peak-activations.js'
import { operatorWork, type WorkOptions } from './work.js'

/** Half precision, to which the memory figures refer. */
const BYTES_PER_ELEMENT = 2

export interface NetworkFacts {
  readonly name: NetworkName
  /** Learned parameters. */
  readonly parameters: number
  /** Parameters and batch-norm statistics in half precision, bytes. */
  readonly weightBytes: number
  /** Largest set of simultaneously live activations in half precision, bytes per sample. */
  readonly peakActivationBytes: number
  /** 1e9 FLOPs per sample, two for each multiply-accumulate. */
  readonly gflops: number
  /** Operators that launch a kernel. */
  readonly operators: number
  /** Activation elements read and written per sample, summed over the operators. */
  readonly activationElements: number
}

/**
 * Sizes of a network that determine memory and time.
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
