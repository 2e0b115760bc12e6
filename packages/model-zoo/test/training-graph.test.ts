import { networkNames } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type LayerGraph, layerGraph, trainingGraph } from '../src/index.js'

const flops = ({ layers }: LayerGraph) => layers.reduce((sum, layer) => sum + layer.flops, 0)

describe('trainingGraph', () => {
  it.each(networkNames)('has three times the arithmetic of %s, less what its first layers save', (name) => {
    const forward = layerGraph(name)
    const training = trainingGraph(forward)
    const first = forward.layers.filter(
      ({ inputs }) => !inputs.some((input) => forward.layers.some((l) => l.name === input)),
    )
    const saved = first.reduce((sum, layer) => sum + layer.flops, 0)
    expect(saved).toBeGreaterThan(0)
    expect(flops(training)).toBe(3 * flops(forward) - saved)
    expect(flops(training) / flops(forward)).toBeGreaterThan(2.8)
    expect(training.name).toBe(`${name}:training`)
    expect(new Set(training.layers.map((layer) => layer.name)).size).toBe(training.layers.length)
  })

  it('keeps all activations, and a gradient and the optimizer states of each parameter', () => {
    const forward = layerGraph('resnet50')
    const [plain, momentum, adam] = [0, 1, 2].map((optimizerStates) => trainingGraph(forward, { optimizerStates }))
    const activations = forward.layers.reduce((sum, layer) => sum + layer.outputElements, 0)
    expect(plain!.peakActivationElements).toBeGreaterThan(activations)
    expect(plain!.peakActivationElements).toBeLessThan(1.2 * activations)
    expect(momentum!.weightElements - plain!.weightElements).toBe(forward.parameters)
    expect(adam!.weightElements - plain!.weightElements).toBe(2 * forward.parameters)
    expect(plain!.weightElements).toBe(forward.weightElements + forward.parameters)
    expect(adam!.layers.at(-1)!.weightElements).toBe(7 * forward.parameters)
    expect(() => trainingGraph(forward, { optimizerStates: -1 })).toThrow('optimizerStates: got -1')
  })
})
