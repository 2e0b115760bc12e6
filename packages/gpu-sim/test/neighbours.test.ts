import { findGpuSpec, networkNames, type Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { energyPerFlop, matrixEfficiency, matrixFlopPerClockPerSm, precisions } from '../src/execution.js'
import { hostOfBoard, physicsOfBoard, simulatedBoards, simulateSteadyState } from '../src/index.js'
import { withLayoutCopies } from '../src/layout-copies.js'
import { flattened, networkWork } from '../src/network-work.js'

const v100 = findGpuSpec('V100')

/** Percent by which the first is slower beside the second, at a limit. */
function slowdown(own: Tenant, other: Tenant, powerLimitW: number): number {
  const simulate = simulateSteadyState('V100', { precision: 'fp32', host: 'tensorrt-like', powerLimitW })
  const batchMs = (tenants: Tenant[]) =>
    simulate({ tenants, smClockMhz: v100.boostClockMhz, memClockMhz: 877 }).tenants[0]!.batchMs
  return 100 * (batchMs([own, other]) / batchMs([own]) - 1)
}

const tenant = (model: string, mpsPercent: number, batchSize: number): Tenant => ({ model, mpsPercent, batchSize })

describe('a neighbour on a V100', () => {
  it.each(['resnet50', 'vgg19'])(
    'costs %s the more the larger its batch: it computes more, and takes more clock',
    (own) => {
      const other = own === 'vgg19' ? 'resnet50' : 'vgg19'
      for (const powerLimitW of [300, 1e9]) {
        const costs = [1, 4, 32].map((batch) => slowdown(tenant(own, 50, 8), tenant(other, 50, batch), powerLimitW))
        expect(costs[0]).toBeGreaterThan(0.5)
        expect(costs[1]).toBeGreaterThan(costs[0]!)
        expect(costs[2]).toBeGreaterThan(costs[1]!)
      }
      const large = [300, 1e9].map((limitW) => slowdown(tenant(own, 50, 32), tenant(other, 50, 32), limitW))
      expect(large[0]! - large[1]!).toBeGreaterThan(3)
    },
  )

  it('costs the more the larger its share', () => {
    const costs = [20, 50, 80].map((share) => slowdown(tenant('resnet50', 20, 8), tenant('vgg19', share, 8), 1e9))
    expect(costs).toEqual([...costs].sort((a, b) => a - b))
    expect(costs[2]).toBeGreaterThan(2 * costs[0]!)
  })

  it('costs less whoever computes most of the time', () => {
    const besideVgg = (own: Tenant) => slowdown(own, tenant('vgg19', 50, 32), 1e9)
    expect(besideVgg(tenant('vgg19', 50, 32))).toBeLessThan(besideVgg(tenant('resnet50', 50, 1)))
  })
})

describe('single precision', () => {
  it.each(simulatedBoards)('on %s: a busy unit draws the same at every precision', (board) => {
    const [spec, { work }] = [findGpuSpec(board), physicsOfBoard(board)]
    for (const kind of ['conv', 'pointwise', 'linear', 'attention'] as const) {
      const draws = precisions.map((precision) => {
        const attained =
          matrixEfficiency(spec, work, { precision })[kind] * matrixFlopPerClockPerSm(spec, { precision })
        return attained * energyPerFlop(spec, work, { precision })[kind]
      })
      for (const draw of draws) expect(draw).toBeCloseTo(draws[2]!, 9)
    }
    expect(energyPerFlop(spec, work, {})).toEqual({ conv: 1, pointwise: 1, linear: 1, attention: 1 })
  })

  it('draws on a V100 what was measured: ResNet-50 hardly less than VGG-19 that saves multiplications', () => {
    const simulate = simulateSteadyState('V100', { precision: 'fp32', host: 'tensorrt-like' })
    const watts = (model: string, mpsPercent: number, batchSize: number) =>
      simulate({ tenants: [tenant(model, mpsPercent, batchSize)], smClockMhz: 1530, memClockMhz: 877 }).powerW
    // nvidia-smi dmon of a V100-SXM2 at half of its SMs and a tenth (iGniter's figures).
    for (const [model, share, batch, measuredW] of [
      ['resnet50', 50, 16, 187],
      ['resnet50', 50, 32, 186],
      ['resnet50', 10, 32, 85],
      ['vgg19', 50, 16, 206],
      ['vgg19', 50, 32, 206],
      ['vgg19', 10, 32, 85],
    ] as const) {
      expect(Math.abs(watts(model, share, batch) / measuredW - 1)).toBeLessThan(0.08)
    }
  })
})

describe('a framework that keeps channels first', () => {
  const rate = (model: string, host: 'eager-pytorch' | 'eager-pytorch-nchw', precision: 'fp16' | 'fp32') =>
    simulateSteadyState('RTX3090', { host, precision })({
      tenants: [tenant(model, 100, 256)],
      smClockMhz: 1950,
      memClockMhz: 9751,
    }).throughput

  it.each(networkNames)('writes each result of a convolution of %s once more, on tensor units only', (model) => {
    const work = networkWork(model)
    const copying = flattened(withLayoutCopies(work.graph))
    const moved = ({ occurrences, elements }: typeof work) =>
      occurrences.reduce((sum, count, i) => sum + count * elements[i]!, 0)
    let results = 0
    let convolutions = 0
    for (let i = 0; i < work.computing; i++) {
      // 0 and 1 are convolutions over all channels.
      if (work.operatorClass[i]! > 1) continue
      convolutions += work.occurrences[i]!
      results += work.occurrences[i]! * work.outputElements[i]!
    }
    expect(copying.operators).toBe(work.operators + convolutions)
    expect(moved(copying)).toBeCloseTo(moved(work) + 2 * results, 3)
    const moving = copying.workingElements.slice(copying.computing)
    expect(moving).toEqual(moving.slice().sort())
    expect(rate(model, 'eager-pytorch-nchw', 'fp16')).toBeLessThan(rate(model, 'eager-pytorch', 'fp16'))
  })

  it('runs single precision as any other', () => {
    expect(rate('resnet50', 'eager-pytorch-nchw', 'fp32')).toBe(rate('resnet50', 'eager-pytorch', 'fp32'))
  })

  it('is not the usual host of any board', () => {
    for (const board of simulatedBoards) expect(hostOfBoard(findGpuSpec(board)).channelsFirst).toBeUndefined()
  })
})
