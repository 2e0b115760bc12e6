import type { Layer, LayerGraph } from '@pctodl/model-zoo'
import { findGpuSpec, type GpuSpec } from '@pctodl/platform'
import { hostOfBoard, physicsOfBoard } from '../../src/index.js'
import { SteadyStateSolver } from '../../src/steady-state.js'

/** Device time of `rows x k` times `k x n` in half precision, s: a network of one operator. */
export function matrixProductSeconds(spec: GpuSpec, rows: number, k: number, n: number): number {
  const amounts = { flops: 2 * k * n, inputElements: k, outputElements: n, weightElements: k * n }
  const names = { name: 'product', operator: 'product', operatorClass: 'linear' } as const
  const layer: Layer = { ...names, ...amounts, inputs: [], outputShape: [n] }
  const product: LayerGraph = {
    name: 'product',
    layers: [layer],
    parameters: k * n,
    weightElements: k * n,
    peakActivationElements: k + n,
    prefetched: true,
    unknownOperators: [],
  }
  // Frameworks' products take some microseconds whatever their size; the calibrated A100's host says how many.
  const host = {
    ...hostOfBoard(spec, 'device-only'),
    kernelFloorUs: hostOfBoard(findGpuSpec('A100'), 'paper').kernelFloorUs,
  }
  const solver = new SteadyStateSolver(spec, physicsOfBoard(spec), { host, networks: [product] })
  const tenants = [{ model: 'product', mpsPercent: 100, batchSize: rows }]
  const memClockMhz = spec.performanceMemClocksMhz[0]!
  return solver.solve({ tenants, smClockMhz: spec.boostClockMhz, memClockMhz }).tenants[0]!.batchMs / 1000
}
