import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { benchRunner } from '@pctodl/bench-runner/commands'
import { loadPerfModel } from '@pctodl/perf-model'
import { poissonArrivals } from '@pctodl/traffic'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { readRecord } from '../site/run/read-record.js'
import { BurstableArrivals } from '../site/run-services/burst.js'
import { BURST_FACTOR, BURST_S } from '../site/run-services/burst-size.js'
import { ServedRun } from '../site/run-services/served-run.js'
import { loadOf } from '../site/run-services/services-load.js'
import { firstServicesRun, type ServicesRunQuestion } from '../site/run-services/services-run-question.js'
import { servicesRunCommand } from '../site/run-services/written-services-run.js'
import { usualService } from '../site/services/asked-service.js'

const folder = mkdtempSync(path.join(tmpdir(), 'playground-served-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Run as the page does, and do things meanwhile. */
async function byPage(
  question: ServicesRunQuestion,
  doings: readonly { readonly atMs: number; readonly act: (run: ServedRun) => void }[] = [],
) {
  const run = new ServedRun(question, question.policies[0]!, loadPerfModel(question.board))
  let over = false
  const outcome = run.run(new AbortController().signal).finally(() => {
    over = true
  })
  for (const { atMs, act } of doings) {
    run.allow(atMs)
    while (run.timeMs < atMs - 100) await new Promise(setImmediate)
    act(run)
  }
  run.allow(Number.POSITIVE_INFINITY)
  while (!over) await new Promise(setImmediate)
  return { ...(await outcome), record: run.record(), frame: run.frame()! }
}

const own: ServicesRunQuestion = {
  ...firstServicesRun,
  task: null,
  services: [
    { ...usualService, name: 'search', model: 'resnet50', ratePerS: 60, p99Ms: 60 },
    { ...usualService, name: 'photos', model: 'mobilenet_v2', ratePerS: 40, p99Ms: 50 },
  ],
  caps: [{ powerCapW: 220, atS: 0 }],
  policies: ['pctodl'],
  durationS: 30,
}

describe('a run of services in the page', () => {
  it.each([1, 6])('has arrivals as bursty as asked: %d', (burstiness) => {
    const [search] = loadOf({ ...own, burstiness }).services
    const arrivals = search!.traffic(100).start(3)
    let before = 0
    const gaps = Array.from({ length: 4000 }, () => {
      const gap = arrivals.nextMs() - before
      before += gap
      return gap
    })
    const variance = gaps.reduce((sum, gap) => sum + (gap - 10) ** 2, 0) / gaps.length
    expect(variance / 100).toBeGreaterThan(0.7 * burstiness)
    expect(variance / 100).toBeLessThan(1.4 * burstiness)
  })

  it.each(['pctodl', 'equal-shares'] as const)('is that of bench-runner to the last digit: %s', async (policy) => {
    const question: ServicesRunQuestion = { ...firstServicesRun, task: 'pair-at-night', policies: [policy], seed: 3 }
    const command = servicesRunCommand(question)!
    let stdout = ''
    const code = await benchRunner([...command.split(' ').slice(3), '--json', '--result-dir', folder], {
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: () => {} },
      signal: new AbortController().signal,
      env: {},
    })
    expect(code).toBe(0)
    const { requests } = JSON.parse(stdout).summaries[0]
    const { served } = JSON.parse(JSON.stringify(await byPage(question)))
    expect(served).toMatchObject({ meanPowerW: requests.meanPowerW, energyPerRequestJ: requests.energyPerRequestJ })
    expect(served.services).toMatchObject(requests.services)
  })

  it('is the same whether a burst, a cap and a fault were known or come while it runs', async () => {
    const known = await byPage({
      ...own,
      caps: [...own.caps!, { powerCapW: 180, atS: 20 }],
      bursts: [12.3, 13],
      disturbances: [{ kind: 'kill', atS: 17 }],
    })
    const live = await byPage(own, [
      { atMs: 12_000, act: (run) => run.burst(12.3) },
      { atMs: 12_700, act: (run) => run.burst(13) },
      { atMs: 16_000, act: (run) => run.disturb({ kind: 'kill', atS: 17 }) },
      { atMs: 18_000, act: (run) => run.changeCaps([...own.caps!, { powerCapW: 180, atS: 20 }]) },
    ])
    // The first event says which caps were known when it began.
    const withoutStart = (record: string) => record.slice(record.indexOf('\n'))
    expect(withoutStart(live.record)).toBe(withoutStart(known.record))
    expect(live.served).toEqual(known.served)
    const calm = await byPage(own)
    const arrived = ({ served }: typeof calm) => served!.services.reduce((sum, each) => sum + each.arrived, 0)
    expect(arrived(known)).toBeGreaterThan(1.5 * arrived(calm))
    // Its record is read back with what became of the requests.
    const opened = readRecord('mine.events.jsonl', known.record)
    expect(opened.frame.services).toEqual(known.frame.services)
    expect(opened.frame.services.length).toBeGreaterThanOrEqual(30)
  })

  it('says what is wrong with a question', () => {
    const model = loadPerfModel('3080Ti')
    expect(() => new ServedRun({ ...own, task: 'no' }, 'pctodl', model)).toThrow(
      "unknown task of services on 3080Ti 'no'",
    )
    const idle = { ...own, services: [{ ...own.services[0]!, ratePerS: 0 }] }
    expect(() => new ServedRun(idle, 'pctodl', model)).toThrow('requests/s of search')
  })
})

describe('BurstableArrivals', () => {
  it('keeps the usual requests, adds those of bursts for a while, and is the same whenever it hears of them', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1000 }),
        fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 3 }),
        (seed, bursts) => {
          const ratePerS = 20
          const start = () => new BurstableArrivals(poissonArrivals({ ratePerS }).start(seed), ratePerS, seed)
          const [known, live] = [start(), start()]
          for (const atMs of bursts) known.burst(atMs)
          const left = [...bursts].sort((a, b) => a - b)
          const times: number[] = []
          // As an engine does: the next request is known while the present one is before it.
          for (let next = live.nextMs(); next < 40_000; next = live.nextMs()) {
            times.push(next)
            while (left.length > 0 && left[0]! > (times.at(-2) ?? -1) && left[0]! <= next + 100)
              live.burst(left.shift()!)
          }
          const all: number[] = []
          for (let next = known.nextMs(); next < 40_000; next = known.nextMs()) all.push(next)
          expect(all).toEqual([...all].sort((a, b) => a - b))
          const usual = poissonArrivals({ ratePerS }).start(seed)
          const told = new Set(all)
          for (let next = usual.nextMs(); next < 40_000; next = usual.nextMs()) expect(told.has(next)).toBe(true)
          if (left.length === 0) expect(times).toEqual(all)
        },
      ),
    )
  })

  it('brings about as many more as it says', () => {
    const calm = poissonArrivals({ ratePerS: 400 }).start(7)
    const burst = new BurstableArrivals(poissonArrivals({ ratePerS: 400 }).start(7), 400, 7)
    burst.burst(10_000)
    const count = (arrivals: { nextMs(): number }) => {
      let sum = 0
      for (let next = arrivals.nextMs(); next < 30_000; next = arrivals.nextMs()) sum++
      return sum
    }
    const more = count(burst) - count(calm)
    const expected = 400 * BURST_FACTOR * BURST_S
    expect(Math.abs(more - expected)).toBeLessThan(4 * Math.sqrt(expected))
  })
})
