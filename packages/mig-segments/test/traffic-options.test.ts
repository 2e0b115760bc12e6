import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type ArrivalProcess, markovModulatedArrivals } from '@pctodl/traffic'
import { afterAll, describe, expect, it } from 'vitest'
import { trafficOf } from '../src/cli/traffic-options.js'
import { planSegments } from '../src/index.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-segments-traffic-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

function gapsOf(process: ArrivalProcess, seed: number, count: number): number[] {
  const arrivals = process.start(seed)
  let before = 0
  return Array.from({ length: count }, () => {
    const nextMs = arrivals.nextMs()
    const gap = nextMs - before
    before = nextMs
    return gap
  })
}

describe('on/off traffic', () => {
  const tail = { gate: 'tail', latencyShare: 0.45, burstiness: 1, rateError: 0.05, timeError: 0.05 } as const

  it.each([
    [100, 0.5, 0.2],
    [3, 0.25, 1],
    // On and off a hundred times for each request, where it is replaced by Poisson traffic.
    [0.0249, 0.25, 0.1],
  ])('at %d/s, on for a share of %d and %d s, has the gaps of a process with two states', (ratePerS, share, onS) => {
    const meanDwellMs = 1000 * onS
    const states = [
      { ratePerS: ratePerS / share, meanDwellMs },
      { ratePerS: 0, meanDwellMs: (meanDwellMs * (1 - share)) / share },
    ]
    const [of] = trafficOf({ ...tail, arrivals: `on-off:${share}:${onS}` }).arrivals!
    const [own, other] = [of!(ratePerS), markovModulatedArrivals({ states })].map((each, k) =>
      gapsOf(each, 11 + k, 40_000),
    )
    const mean = 1000 / ratePerS
    for (const limit of [0.1, 0.3, 1, 3, 10]) {
      const [a, b] = [own!, other!].map((gaps) => gaps.filter((gap) => gap < limit * mean).length / gaps.length)
      expect(Math.abs(a! - b!), `gaps below ${limit} of the mean`).toBeLessThan(0.015)
    }
    expect(own!.reduce((sum, gap) => sum + gap, 0) / own!.length / mean).toBeCloseTo(1, 1)
  })

  it('takes no more work where requests are rare', async () => {
    const points = [{ sizeGpcs: 1 as const, batchSize: 1, processes: 1, processThroughput: 10, latencyMs: 100 }]
    const { arrivals } = trafficOf({ ...tail, arrivals: 'on-off:0.5:0.001' })
    const rare = { model: 'a', ratePerS: 1e-7, latencyMs: 1000 }
    const plan = await planSegments([{ model: 'a', points }], [rare], { gate: 'tail', arrivals: arrivals! })
    expect(plan.gpuCount).toBe(1)
  })
})

describe('a recorded trace', () => {
  it('begins at another place with another seed, at the rate that is asked for', () => {
    const file = path.join(folder, 'azure.csv')
    const times = [0, 0.1, 0.2, 5, 5.5, 60, 61, 90]
    const rows = times.map((s) => `2023-11-16 18:0${Math.floor(s / 60)}:${(s % 60).toFixed(4).padStart(7, '0')},10,20`)
    writeFileSync(file, `TIMESTAMP,ContextTokens,GeneratedTokens\n${rows.join('\n')}\n`)
    const [of] = trafficOf({
      ...{ gate: 'tail', latencyShare: 0.45, burstiness: 1, rateError: 0.05, timeError: 0.05 },
      arrivals: `azure:${file}`,
    }).arrivals!
    const firstGaps = new Set(Array.from({ length: 40 }, (_, seed) => gapsOf(of!(50), seed, 2)[1]!.toFixed(6)))
    expect(firstGaps.size).toBeGreaterThan(4)
    const gaps = gapsOf(of!(50), 3, 8000)
    expect(gaps.every((gap) => gap >= 0)).toBe(true)
    expect((1000 * gaps.length) / gaps.reduce((sum, gap) => sum + gap, 0)).toBeCloseTo(50, 1)
  })
})

it('plans for a request in longer than the universe lasts', async () => {
  const points = [{ sizeGpcs: 1 as const, batchSize: 1, processes: 1, processThroughput: 10, latencyMs: 100 }]
  const plan = await planSegments([{ model: 'a', points }], [{ model: 'a', ratePerS: 1e-300, latencyMs: 1000 }])
  expect(plan.gpuCount).toBe(1)
})
