import { findGpuSpec, findMigProfile, migBoard, networkNames, type Tenant } from '@pctodl/platform'
import { golden } from '@pctodl/reference-data'
import { describe, expect, it } from 'vitest'
import type { HostName, HostProfile } from '../src/host-profile.js'
import { hostOfBoard, simulateSteadyState } from '../src/index.js'

const spec = findGpuSpec('A100-80GB')
const profiles: Readonly<Record<string, string>> = {
  1: '1g.10gb',
  2: '2g.20gb',
  3: '3g.40gb',
  4: '4g.40gb',
  7: '7g.80gb',
}

interface Row {
  readonly slices: string
  readonly batchSize: number
  readonly measured: number
  readonly simulated: number
}

/** Measured throughput of one process on MIG instances of an A100 80GB, and what the simulator says of the same. */
function rows(model: string): Row[] {
  const [, ...lines] = golden(`parvagpu/prof_data/${model}.csv`).trim().split('\n')
  return lines.map((line) => {
    const [slices, batch, , throughput] = line.trim().split(',')
    const board = migBoard(spec, findMigProfile(spec, profiles[slices!]!))
    const batchSize = Number(batch)
    const simulate = simulateSteadyState(board, { precision: 'tf32' })
    const { throughput: simulated } = simulate({
      tenants: [{ model, mpsPercent: 100, batchSize }],
      smClockMhz: 1410,
      memClockMhz: 1593,
    })
    return { slices: slices!, batchSize, measured: Number(throughput), simulated }
  })
}

function rankCorrelation(a: readonly number[], b: readonly number[]): number {
  const ranks = (values: readonly number[]) => values.map((value) => values.filter((other) => other < value).length)
  const [x, y] = [ranks(a), ranks(b)]
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [mx, my] = [mean(x), mean(y)]
  const dot = (u: number[], v: number[], mu: number, mv: number) =>
    u.reduce((sum, value, i) => sum + (value - mu) * (v[i]! - mv), 0)
  return dot(x, y, mx, my) / Math.sqrt(dot(x, x, mx, mx) * dot(y, y, my, my))
}

/** First batch size of which the double brings less than 15 % more. */
function saturation(points: readonly { readonly batchSize: number; readonly throughput: number }[]): number {
  const sorted = [...points].sort((a, b) => a.batchSize - b.batchSize)
  const enough = sorted.find((point, i) => {
    const next = sorted[i + 1]
    return !next || next.throughput < 1.15 * point.throughput
  })
  return enough!.batchSize
}

describe.each(['resnet50', 'vgg19'])('%s on MIG instances of an A100 80GB', (model) => {
  it('ranks instances and batch sizes as measured', () => {
    const all = rows(model)
    const simulated = all.map((row) => row.simulated)
    const measured = all.map((row) => row.measured)
    expect(rankCorrelation(simulated, measured)).toBeGreaterThan(0.9)
  })

  it('is within 30 % of the measured throughput at the median, though nothing was fitted to it', () => {
    const errors = rows(model).map(({ simulated, measured }) => Math.abs(simulated / measured - 1))
    errors.sort((a, b) => a - b)
    expect(errors[Math.floor(errors.length / 2)]).toBeLessThan(0.3)
  })

  it('stops gaining from larger batches where the measured one does, to two doublings', () => {
    const all = rows(model)
    for (const slices of new Set(all.map((row) => row.slices))) {
      const own = all.filter((row) => row.slices === slices)
      const at = (value: (row: Row) => number) =>
        saturation(own.map((row) => ({ batchSize: row.batchSize, throughput: value(row) })))
      const measured = at((row) => row.measured)
      const simulated = at((row) => row.simulated)
      expect(Math.abs(Math.log2(simulated / measured))).toBeLessThanOrEqual(2)
    }
  })
})

const v100 = findGpuSpec('V100')
const shares = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]

/** Measured throughput of jobs alone on a V100, at shares of 10 to 100 %. */
function measuredAlone(): Map<string, number[]> {
  const lines = golden('kace/solo_mps_sweep.csv').trim().split('\n').slice(1)
  const rows = lines.map((line) => line.split(',')).filter((cells) => cells.length === 11 && cells[1] !== '')
  return new Map(rows.map(([name, ...values]) => [name!, values.map(Number)]))
}

const quantile = (values: readonly number[], q: number) =>
  [...values].sort((a, b) => a - b)[Math.floor(q * (values.length - 1))]!

/**
 * The measured jobs prepare their images in a slow host (some 10 ms each): that one number is taken from mobilenet_v2 on the whole board, so
 * that all else is a prediction.
 */
function slowHost(batchSize: number): HostProfile {
  const base = hostOfBoard(v100, 'paper')
  const whole = measuredAlone().get(`mobilenet_v2_1.0_224_batch${batchSize}-inf`)!.at(-1)!
  let [low, high] = [0, 100_000]
  for (let i = 0; i < 40; i++) {
    const imageHostUs = (low + high) / 2
    const simulate = simulateSteadyState(v100, { precision: 'fp32', host: { ...base, imageHostUs } })
    const tenants = [{ model: 'mobilenet_v2', mpsPercent: 100, batchSize }]
    if (simulate({ tenants, smClockMhz: v100.boostClockMhz, memClockMhz: 877 }).throughput > whole) low = imageHostUs
    else high = imageHostUs
  }
  return { ...base, imageHostUs: low }
}

/** Throughput relative to the whole board, simulated and measured. */
function shareCurves(model: 'resnet50' | 'mobilenet_v2', batchSize: number) {
  const simulate = simulateSteadyState(v100, { precision: 'fp32', host: slowHost(batchSize) })
  const at = (mpsPercent: number) =>
    simulate({ tenants: [{ model, mpsPercent, batchSize }], smClockMhz: v100.boostClockMhz, memClockMhz: 877 })
      .throughput
  const name = model === 'resnet50' ? 'resnet-50' : 'mobilenet_v2_1.0_224'
  const measured = measuredAlone().get(`${name}_batch${batchSize}-inf`)!
  const simulated = shares.map(at)
  return {
    measured: measured.map((value) => value / measured.at(-1)!),
    simulated: simulated.map((value) => value / simulated.at(-1)!),
  }
}

describe('shares on a V100', () => {
  it.each(
    (['resnet50', 'mobilenet_v2'] as const).flatMap((model) => [2, 8, 16].map((batch) => [model, batch] as const)),
  )('%s at batch %i gains from a larger share as measured', (model, batch) => {
    const { measured, simulated } = shareCurves(model, batch)
    const differences = simulated.map((value, i) => Math.abs(value - measured[i]!))
    expect(quantile(differences, 0.5)).toBeLessThan(0.05)
    expect(Math.max(...differences)).toBeLessThan(0.18)
    const reaching = (curve: number[]) => shares[curve.findIndex((value) => value >= 0.9)]!
    expect(Math.abs(reaching(simulated) - reaching(measured))).toBeLessThanOrEqual(20)
  })

  const kept = { busy: new Map<number, number[]>(), waiting: [] as number[], colliding: [] as number[] }
  const alone = measuredAlone()
  // Twice the share brings a job half as much again, or it waits for its host.
  const busy = (curve: readonly number[]) => curve[9]! > 1.5 * curve[4]!
  for (const line of golden('kace/pair_mps_sweep.csv').trim().split('\n').slice(1)) {
    const [a, b] = line.split(',', 2).map((name) => alone.get(name))
    if (!a || !b) continue
    const cells = [...line.matchAll(/\(([^"()]*)\)/g)].map((cell) => cell[1]!.split(',').map(Number))
    cells.forEach(([ofA, ofB], i) => {
      const pair = [ofA! / a[i]!, ofB! / b[i === 9 ? 9 : 8 - i]!].filter((value) => value > 0)
      if (pair.length < 2) return
      if (i === 9) kept.colliding.push(...pair)
      else if (!busy(a) && !busy(b)) kept.waiting.push(...pair)
      else if (busy(a) && busy(b)) {
        pair.forEach((value, p) => {
          const share = p === 0 ? shares[i]! : shares[8 - i]!
          kept.busy.set(share, [...(kept.busy.get(share) ?? []), value])
        })
      }
    })
  }
  /** The median over all pairs of the zoo's networks of what the first keeps of its rate. */
  const simulatedKept = (host: HostProfile | HostName, batchSize: number, share: number, other: number) => {
    const simulate = simulateSteadyState(v100, { precision: 'fp32', host })
    const rates = (tenants: Tenant[]) =>
      simulate({ tenants, smClockMhz: v100.boostClockMhz, memClockMhz: 877 }).tenants.map((each) => each.throughput)
    const pairs = networkNames.flatMap((model) => {
      const own = { model, mpsPercent: share, batchSize }
      const [solo] = rates([own])
      return networkNames.map((name) => rates([own, { model: name, mpsPercent: other, batchSize }])[0]! / solo!)
    })
    return quantile(pairs, 0.5)
  }

  it.each([20, 50, 80])('cost a busy job of %i percent beside another what was measured, to 8 points', (share) => {
    const measured = quantile(kept.busy.get(share)!, 0.5)
    expect(measured).toBeLessThan(0.95)
    expect(Math.abs(simulatedKept('device-only', 32, share, 100 - share) - measured)).toBeLessThan(0.08)
  })

  it('cost nothing where jobs wait for their hosts', () => {
    expect(quantile(kept.waiting, 0.5)).toBeGreaterThan(0.98)
    expect(simulatedKept(slowHost(8), 8, 50, 50)).toBeGreaterThan(0.98)
  })

  it('let a pair collide where each has all: between the measured quartiles', () => {
    const middle = simulatedKept('eager-pytorch', 8, 100, 100)
    expect(middle).toBeGreaterThan(quantile(kept.colliding, 0.25))
    expect(middle).toBeLessThan(quantile(kept.colliding, 0.75))
  })
})
