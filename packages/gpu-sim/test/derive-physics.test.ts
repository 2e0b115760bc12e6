import { findGpuSpec, memoryBandwidth, networkNames } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { relativeVoltage } from '../src/board-power.js'
import { derivePhysics } from '../src/derive-physics.js'
import { calibratedBoards, physicsOfBoard, simulatedBoards, simulateSteadyState } from '../src/index.js'

const known = (board: string) => ({ spec: findGpuSpec(board), physics: physicsOfBoard(board) })

describe('derived coefficients', () => {
  it.each(calibratedBoards)('of %s from itself are its own', (board) => {
    const { spec, physics } = known(board)
    const derived = derivePhysics(spec, { spec, physics })
    expect(derived.work).toEqual(physics.work)
    for (const [name, value] of Object.entries(physics.power)) {
      const own = derived.power[name as keyof typeof derived.power]
      if (typeof value === 'number') expect(own).toBeCloseTo(value, 9)
      else expect(own).toBe(value)
    }
  })

  it('put the same chip on the same curve of voltage over MHz', () => {
    const ti = known('3080Ti')
    const a10 = known('A10')
    const scale = relativeVoltage(ti.spec, ti.physics, a10.spec.boostClockMhz)
    for (const clock of [600, 1005, 1305, 1500, 1695]) {
      const onTi = relativeVoltage(ti.spec, ti.physics, clock)
      expect(relativeVoltage(a10.spec, a10.physics, clock) * scale).toBeCloseTo(onTi, 9)
    }
  })

  it('cost as much energy per operation on the same chip at the same voltage', () => {
    const [a, b] = [physicsOfBoard('A100'), physicsOfBoard('A100-80GB')]
    expect(b.power.flopPj).toBeCloseTo(a.power.flopPj, 9)
    expect(b.power.l2BytePj).toBeCloseTo(a.power.l2BytePj, 9)
    expect(physicsOfBoard('H100').power.flopPj).toBeLessThan(a.power.flopPj)
    expect(physicsOfBoard('V100').power.flopPj).toBeGreaterThan(a.power.flopPj)
  })

  it.each(simulatedBoards)('let all SMs of %s together ask for what its DRAM gives', (board) => {
    const { spec, physics } = known(board)
    const asked = physics.work.smBandwidthGBs * 1e9 * spec.smCount
    const given = physics.work.dramEfficiency * memoryBandwidth(spec, spec.performanceMemClocksMhz[0]!)
    expect(asked).toBeGreaterThan(given)
  })

  it.each(simulatedBoards)('keep %s within its default limit, above idle, under every network', (board) => {
    const { spec, physics } = known(board)
    for (const model of networkNames) {
      const { powerW } = simulateSteadyState(board)({
        tenants: [0, 1, 2, 3].map(() => ({ model, mpsPercent: 25, batchSize: 16 })),
        smClockMhz: spec.boostClockMhz,
        memClockMhz: spec.performanceMemClocksMhz[0]!,
      })
      expect(powerW).toBeLessThanOrEqual(spec.powerLimitW.default)
      expect(powerW).toBeGreaterThan(physics.power.idleW)
    }
  })

  it.each(['T4', 'V100', 'H100', 'H200', 'A100-80GB'])('leave %s its base clock at its default limit', (board) => {
    const { spec } = known(board)
    for (const model of networkNames) {
      const { smClockMhz } = simulateSteadyState(board)({
        tenants: [{ model, mpsPercent: 100, batchSize: 32 }],
        smClockMhz: spec.boostClockMhz,
        memClockMhz: spec.performanceMemClocksMhz[0]!,
      })
      expect(smClockMhz).toBeGreaterThanOrEqual(spec.baseClockMhz)
    }
  })

  it('are refused for a board that exceeds its limit without work', () => {
    const h200 = findGpuSpec('H200')
    const starved = { ...h200, key: 'Starved', powerLimitW: { min: 30, default: 60, max: 60 } }
    expect(() => physicsOfBoard(starved)).toThrow(
      /powerLimitW.default: got 60, expected more than the 1\d\d W .* dieMm2/,
    )
    const small = { ...starved, dieMm2: 80, memoryBusBits: 512, smCount: 12 }
    expect(physicsOfBoard(small).power.busySmW).toBeGreaterThan(0)
  })

  it.each([
    ['Intel 18A', 'TSMC 4NP'],
    ['TSMC A16', 'TSMC 4NP'],
    ['TSMC 16FFC', 'TSMC 16FF'],
    ['SMIC N+2', 'TSMC 4NP'],
  ])('count the process %s as %s', (process, nearest) => {
    const energy = (name: string) => physicsOfBoard({ ...findGpuSpec('H200'), key: name, process: name }).power.flopPj
    expect(energy(process)).toBe(energy(nearest))
  })

  it('are refused for a kind of memory that is only a number', () => {
    expect(() => physicsOfBoard({ ...findGpuSpec('H200'), key: 'X', memoryType: '123' })).toThrow(
      /memoryType.*123.*HBM/,
    )
  })

  it('order the boards as their data sheets do', () => {
    const throughput = (board: string) => {
      const spec = findGpuSpec(board)
      return simulateSteadyState(board)({
        tenants: [0, 1, 2, 3].map(() => ({ model: 'vgg19', mpsPercent: 25, batchSize: 32 })),
        smClockMhz: spec.boostClockMhz,
        memClockMhz: spec.performanceMemClocksMhz[0]!,
      }).throughput
    }
    const rising = ['T4', '3080Ti', 'A10', 'V100', 'A100', 'A100-80GB', 'H100', 'H200'].map(throughput)
    rising.forEach((value, i) => {
      if (i > 0) expect(value).toBeGreaterThan(rising[i - 1]!)
    })
  })
})
