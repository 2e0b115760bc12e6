import { networkNames } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { exportOnnx, graphFromOnnx, layerGraph, networkWork } from '../src/index.js'
import { networkFacts } from './facts.js'

describe('the work of a network', () => {
  it.each(networkNames)('adds up to the facts of %s', (name) => {
    const work = networkWork(layerGraph(name))
    const { gflops, operators, activationElements, peakActivationBytes } = networkFacts(name)
    expect(work.kernels).toBe(operators)
    expect(work.computedMelements + work.movedMelements).toBeCloseTo(activationElements / 1e6, 6)
    expect(work.peakMelements).toBeCloseTo(peakActivationBytes / 2e6, 9)
    expect(work.denseGflops).toBeLessThanOrEqual(gflops * (1 + 1e-12))
    expect(work.depthwiseMelements).toBeLessThanOrEqual(work.computedMelements)
    // Depthwise convolutions move much and compute little.
    expect(work.denseGflops).toBeGreaterThan(0.88 * gflops)
  })

  it('says how much of a graph it does not know', () => {
    const graph = layerGraph('resnet50')
    expect(networkWork(graph).unknownShare).toBe(0)
    const unknown = { operator: 'MyPool', occurrences: 1, shareOfElements: 0.25, outputSize: 'stated' } as const
    const shareOf = (...operators: string[]) =>
      networkWork({ ...graph, unknownOperators: operators.map((operator) => ({ ...unknown, operator })) }).unknownShare
    expect(shareOf('MyPool', 'MyNorm')).toBe(0.5)
    // A branch has a graph of its own, which nobody has looked into.
    expect(shareOf('If')).toBe(1)
  })

  it('is the same of an ONNX file', () => {
    const { model } = exportOnnx('mobilenet_v2', { weights: 'external' })
    const read = networkWork(graphFromOnnx(model))
    const own = networkWork(layerGraph('mobilenet_v2'))
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
