import { networkNames } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { exportOnnx, graphFromOnnx, layerGraph, networkDemand, networkFacts } from '../src/index.js'

describe('the demand of a network', () => {
  it.each(networkNames)('adds up to the facts of %s', (name) => {
    const demand = networkDemand(layerGraph(name))
    const { gflops, operators, activationElements, peakActivationBytes } = networkFacts(name)
    expect(demand.kernels).toBe(operators)
    expect(demand.computedMelements + demand.movedMelements).toBeCloseTo(activationElements / 1e6, 6)
    expect(demand.peakMelements).toBeCloseTo(peakActivationBytes / 2e6, 9)
    expect(demand.denseGflops).toBeLessThanOrEqual(gflops * (1 + 1e-12))
    expect(demand.depthwiseMelements).toBeLessThanOrEqual(demand.computedMelements)
    // Depthwise convolutions move much and compute little.
    expect(demand.denseGflops).toBeGreaterThan(0.88 * gflops)
  })

  it('is the same of an ONNX file', () => {
    const { model } = exportOnnx('mobilenet_v2', { weights: 'external' })
    const read = networkDemand(graphFromOnnx(model))
    const own = networkDemand(layerGraph('mobilenet_v2'))
    expect(read.kernels).toBe(own.kernels)
    for (const field of [
      'denseGflops',
      'depthwiseMelements',
      'computedMelements',
      'movedMelements',
      'peakMelements',
    ] as const) {
      expect(read[field], field).toBeCloseTo(own[field], 6)
    }
  })
})
