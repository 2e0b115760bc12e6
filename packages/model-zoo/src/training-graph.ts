import { InvalidInputError } from '@pctodl/platform'
import type { Layer, LayerGraph } from './layer-graph.js'

export interface TrainingGraphOptions {
  /**
   * Number of values that the optimizer keeps per parameter: 1 for SGD with momentum (default), 2 for Adam, 0 for plain
   * SGD.
   */
  readonly optimizerStates?: number
}

/**
 * The work of one optimiser step, per sample: the operators of a network, of its backward pass, and of the weight
 * update.
 *
 * An operator with arithmetic has two backward operators, one for the gradient of its input and one for the gradient of
 * its weights. Each takes as many FLOP as the forward operator. In total this is three times the forward pass (the
 * usual count, e.g. Kaplan et al. 2020, section 2.1), except that the first layers need no gradient of their input. An
 * operator without arithmetic has one backward operator: it reads the gradient of the output (for norms and activations
 * also the input) and writes the gradient of the input. The update reads and writes weights, gradients and optimizer
 * states once per step.
 *
 * Inputs count as prefetched, because loaders prepare the next batch in parallel. All activations are kept for the
 * backward pass, so they determine peak memory. Tenants name the network with the suffix `:training`.
 *
 * @throws InvalidInputError for an invalid number of states
 */
export function trainingGraph(graph: LayerGraph, { optimizerStates = 1 }: TrainingGraphOptions = {}): LayerGraph {
  if (!Number.isInteger(optimizerStates) || optimizerStates < 0) {
    throw new InvalidInputError('optimizerStates', optimizerStates, 'an integer of at least 0')
  }
  const names = new Set(graph.layers.map(({ name }) => name))
  const backward = graph.layers.toReversed().flatMap((layer) =>
    backwardOf(
      layer,
      layer.inputs.some((name) => names.has(name)),
    ),
  )
  const update: Layer = {
    name: 'update',
    operator: 'update',
    operatorClass: 'elementwise',
    flops: 0,
    inputElements: 0,
    outputElements: 0,
    // The update reads weights, gradients and optimizer states, and writes weights and states.
    weightElements: graph.parameters * (3 + 2 * optimizerStates),
    inputs: [],
    outputShape: [],
  }
  const kept = graph.layers.reduce((sum, { outputElements }) => sum + outputElements, 0)
  return {
    ...graph,
    name: `${graph.name}:training`,
    prefetched: true,
    layers: [...graph.layers, ...backward, update],
    // Besides the weights, memory contains a gradient and the optimizer states of each parameter.
    weightElements: graph.weightElements + graph.parameters * (1 + optimizerStates),
    peakActivationElements: kept + Math.max(...graph.layers.map(({ outputElements }) => outputElements)),
  }
}

function backwardOf(layer: Layer, needsInputGradient: boolean): Layer[] {
  const { name, operatorClass, inputElements, outputElements } = layer
  if (layer.flops > 0) {
    const ofWeights = { ...layer, name: `${name} weight gradient`, inputs: [name] }
    const ofInput = { ...layer, name: `${name} input gradient`, inputs: [name] }
    return needsInputGradient ? [ofWeights, ofInput] : [ofWeights]
  }
  const readsItsInput = operatorClass === 'norm' || operatorClass === 'elementwise'
  return [
    {
      ...layer,
      name: `${name} input gradient`,
      inputs: [name],
      inputElements: outputElements + (readsItsInput ? inputElements : 0),
      outputElements: inputElements,
    },
  ]
}
