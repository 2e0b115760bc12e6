import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { between, counted, judgeCap, meanThroughput, meanW, ofType, type Told, used, weightedPerS } from './harness.js'
import { brokenPromises } from './record-promises.js'

/**
 * Figures of each story, from the tenth second on. A change may improve them, and need not reproduce them. A change that gives up one
 * for another stores the new ones with `PCTODL_STORE_FIGURES=1`, and its commit says why.
 */
const file = path.join(import.meta.dirname, 'figures.json')

interface Figures {
  /** Percentage of the time above the cap. */
  readonly above: number
  /** Settings that were asked for. */
  readonly changes: number
  /** Tenants that were started, from the begin on. */
  readonly starts: number
  /** Mean power over mean cap, percent: high where a cap is to be used, low where services are to be served. */
  readonly power: number
  /** Samples/s, or requests/s within their objectives. */
  readonly speed: number
  /** Requests that were turned away. */
  readonly shed: number
}

const FROM_S = 10
/** What chance may do to a figure of a sound change, as a fraction and in absolute numbers. */
const SLACK: Figures = { above: 0.1, changes: 0.25, starts: 0, power: 0.01, speed: 0.01, shed: 0.1 }
const SPARE: Figures = { above: 0.3, changes: 3, starts: 0, power: 0, speed: 0, shed: 20 }
const lowIsWorse = (name: string, serves: boolean) => name === 'speed' || (name === 'power' && !serves)

function figuresOf(told: Told): Figures {
  const part = between(told, FROM_S)
  const services = part.at(-1)!.counters.map(({ service }) => service)
  const inAll = services.filter((service) =>
    part.every(({ counters }) => counters.some((each) => each.service === service)),
  )
  const demands = inAll.map((name) => ({ service: { name, weight: 1 } }) as Parameters<typeof weightedPerS>[1][number])
  return {
    above: 100 * judgeCap(told).aboveShare,
    changes: ofType(told, 'action').filter(({ timeMs }) => timeMs > 1000 * FROM_S).length,
    starts: ofType(told, 'tenant').filter(({ state }) => state === 'loading').length,
    power: services.length > 0 ? meanW(part) : 100 * used(part),
    speed: services.length > 0 ? weightedPerS(told, demands, FROM_S) : meanThroughput(part),
    shed: inAll.reduce((sum, service) => sum + counted(told, service, 'shed', FROM_S), 0),
  }
}

/** A story comes to no less than it did before, and its record breaks no promise. */
export function expectNoWorse(told: Told, name: string = expect.getState().currentTestName!): void {
  expect(brokenPromises(told)).toEqual([])
  const all: Record<string, Figures> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  const figures = figuresOf(told)
  if (process.env['PCTODL_STORE_FIGURES']) {
    const stored = Object.entries({ ...all, [name]: figures }).sort(([a], [b]) => (a < b ? -1 : 1))
    const rounded = (_: string, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(5)) : value)
    writeFileSync(file, `${JSON.stringify(Object.fromEntries(stored), rounded, 2)}\n`)
    return
  }
  const before = all[name]
  if (before === undefined) throw new Error(`no figures of '${name}': run it once with PCTODL_STORE_FIGURES=1`)
  const serves = told.tenths.at(-1)!.counters.length > 0
  for (const key of Object.keys(before) as (keyof Figures)[]) {
    const slack = SLACK[key] * before[key] + SPARE[key]
    if (lowIsWorse(key, serves)) expect(figures[key], key).toBeGreaterThanOrEqual(before[key] - slack)
    else expect(figures[key], key).toBeLessThanOrEqual(before[key] + slack)
  }
}
