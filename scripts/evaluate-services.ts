/**
 * Compares the law for services with opponents that know more, or with itself without one of its parts: the same arrivals
 * on random boards, tasks and rates.
 *
 *   pnpm evaluate:services [--seed 8450000] [--cells 12]
 *   pnpm ablate:services [--seed 8450000] [--cells 12] [--without caution,queues]
 *
 * Opponents: `latency-governor`; `lock`, equal shares at the best locked clock; `schedule`, pctodl's first tenants at the
 * better of their best locked clock and a schedule of clocks that knows the arrivals of each half second. Both know the
 * judged arrivals, and use the least energy at which 99 % of each service's requests meet the objective. With `--without`,
 * the opponents are the law without each of the named parts; `pnpm ablate:services` leaves out `all`, one
 * after the other.
 *
 * Prints energy per request answered in time relative to each opponent, in cells where both keep 99 % and the cap, the
 * number of these cells and of those where the opponent does; then attainment of the worst service (mean, worst cell), and
 * requests shed or failed. A cell takes about 15 s of processor time; an interrupted call resumes.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createServerPolicy, runServerLoad, type ServerLoad, serverTasksOf } from '@pctodl/bench-runner/server'
import { mean, quantile, SeededRandom, seedFrom, sum } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { capAt } from '@pctodl/platform'
import { equalShares, plannedShares } from '@pctodl/run/policy'
import { type PowerCapPolicy, planClocks, planWithModel, ServicesPolicy, ServingClocks } from '@pctodl/scheduler'
import { arrivalTimes } from '@pctodl/traffic'
import { bestLockedClock } from '../packages/bench-runner/src/services/services-oracle.js'
import { ArrivalRate } from '../packages/scheduler/src/services/arrival-rate.js'
import { CapLaw } from '../packages/scheduler/src/services/cap-law.js'
import { ServiceWatch } from '../packages/scheduler/src/services/service-watch.js'
import { refuse, scriptOptions } from './evaluation/script-options.js'

const kinds = {
  stationary: [501, 502, 503, 504, 505, 506, 522],
  changing: [508, 509, 512, 513, 515, 520],
  hostile: [510, 511, 514, 517, 518, 519, 521, 523],
}
const SLOT_MS = 500
/** Factors on the arrivals of a half second that the schedule prepares for. */
const MARGINS = [0.8, 1, 1.2, 1.4]
const RESAMPLES = 2000

interface Figures {
  readonly joules: number
  /** Attainment of the worst service, percent. */
  readonly worst: number
  /** Whether the worst service reaches 99 % and the cap holds. */
  readonly keeps: boolean
  /** Requests shed or failed. */
  readonly unanswered?: number
}

/** The figures of pctodl and of those with which it is compared, by name. */
type Compared = Readonly<Record<string, Figures>>

interface CellResult {
  readonly cell: string
  readonly kind: string
  readonly figures: Compared
}

// biome-ignore lint/suspicious/noExplicitAny: a stand-in has the types of what it stands in for
type StandIn = (self: any, ...args: any[]) => unknown

/**
 * How each part is switched off: a getter or method of a class, and what takes its place; null if it is switched off
 * where the policy is created.
 */
const parts: Record<
  string,
  readonly [prototype: object, name: string, standInFor: (method: StandIn) => StandIn] | null
> = {
  // Every late request is excused, so the caution stays 0.
  caution: [
    ServiceWatch.prototype,
    'update',
    (update) => (self, timeMs, reading) => update.call(self, timeMs, reading, true),
  ],
  // The model assumes Poisson traffic; the windows of the arrival rate still use the measured burstiness.
  burstiness: [
    ServingClocks.prototype,
    'predict',
    (predict) => (self, clock, rates) => predict.call(self, clock, rates),
  ],
  window: [ArrivalRate.prototype, 'perS', () => (self) => self.meanPerS(1)],
  queues: [
    ServiceWatch.prototype,
    'update',
    (update) => (self, timeMs, reading, excused) => update.call(self, timeMs, { ...reading, queued: 0 }, excused),
  ],
  peaks: [
    ArrivalRate.prototype,
    'peakPerS',
    () =>
      ({ perS }) =>
        perS,
  ],
  dwell: [
    CapLaw.prototype,
    'ceilingMhz',
    (ceilingMhz) =>
      (self, ...args) => {
        self.forget()
        return ceilingMhz.call(self, ...(args as [unknown]))
      },
  ],
  offset: [
    CapLaw.prototype,
    'read',
    (read) => (self, timeMs, telemetry, predictedW) => {
      read.call(self, timeMs, telemetry, predictedW)
      self.offsetW = 0
    },
  ],
  replan: [ServicesPolicy.prototype, 'onIdle', () => () => undefined],
  'lean-tenants': null,
  // Tenants are planned for Poisson arrivals.
  'tenants-for-bursts': null,
}

const options = scriptOptions(import.meta.filename, { seed: 8_450_000, cells: 12, without: '' })
const without = options.without === 'all' ? Object.keys(parts) : options.without.split(',').filter(Boolean)
const unknown = without.find((part) => !Object.hasOwn(parts, part))
if (unknown !== undefined) refuse(`--without: got '${unknown}', expected some of ${Object.keys(parts).join(', ')}`)
const opponents = without.length > 0 ? without : ['lock', 'schedule', 'latency-governor']

function figuresOf({ services, energyPerRequestJ, capHolds }: Awaited<ReturnType<typeof runServerLoad>>): Figures {
  const worst = 100 * Math.min(...services.map(({ attainment }) => attainment ?? 1))
  const unanswered = sum(services.map(({ shed, failed }) => shed + failed))
  return { joules: energyPerRequestJ ?? Number.NaN, worst, keeps: capHolds && worst >= 99, unanswered }
}

const better = (a: Figures, b: Figures) =>
  a.keeps !== b.keeps ? (a.keeps ? a : b) : (a.keeps ? a.joules < b.joules : a.worst > b.worst) ? a : b

/** Runs one cell: a board, a task and a factor on its rates. */
async function runCell(cell: string, seed: number): Promise<Compared> {
  const [boardName, id, factor] = cell.split(':') as [string, string, string]
  const loadFactor = Number(factor)
  const task = serverTasksOf(boardName.split('~')[0]!, [Number(id)])[0]!
  const load: ServerLoad = { ...task, boardName, seed, loadFactor }
  const model = loadPerfModel(task.board)
  const run = async (policy: PowerCapPolicy) => figuresOf(await runServerLoad(load, policy))
  const named = (name: 'pctodl' | 'latency-governor') => run(createServerPolicy(name, task, { model, loadFactor }))
  const pctodl = await named('pctodl')
  if (without.length > 0) {
    const ablated: Record<string, Figures> = { pctodl }
    for (const part of without) ablated[part] = await switchedOff(part, () => run(lawWithout(part)))
    return ablated
  }
  const lock = figuresOf((await bestLockedClock(load, model, [equalShares], 0.99)).run)
  const locked = await bestLockedClock(load, model, [plannedShares], 0.99)

  const services = task.services.map(({ service }) => service)
  const ratesPerS = task.services.map(({ meanPerS, toldFactor = 1 }) => loadFactor * meanPerS * toldFactor)
  const { tenants } = plannedShares(model, { services, ratesPerS, powerCapW: capAt(task.caps, 0) })
  const clocks = new ServingClocks(model, tenants, services, locked.clocks.memClockMhz)
  const untilMs = 1000 * task.durationS
  const arrivals = task.services.map(({ service, traffic, meanPerS }) => {
    const counts = new Array<number>(untilMs / SLOT_MS + 2).fill(0)
    const times = arrivalTimes(traffic(loadFactor * meanPerS), { seed: seedFrom(seed, service.name), untilMs })
    for (const timeMs of times) counts[Math.floor(timeMs / SLOT_MS)]!++
    return counts
  })
  let schedule = figuresOf(locked.run)
  for (const margin of MARGINS) {
    // The clock of a half second also suffices for the next one, so that no request of its end is late.
    const neededMhz = arrivals[0]!.map((_, i) =>
      clocks.lowest(arrivals.map((n) => (margin * 1000 * Math.max(n[i]!, n[i + 1] ?? 0)) / SLOT_MS)),
    )
    schedule = better(schedule, await run(scheduled(neededMhz)))
  }
  return { pctodl, 'latency-governor': await named('latency-governor'), lock, schedule }

  /** The law with the plans that it makes without a part. */
  function lawWithout(part: string): PowerCapPolicy {
    const plan = planWithModel(model, part === 'tenants-for-bursts' ? { burstiness: 1 } : {})
    const present = task.services.filter(({ fromS = 0 }) => fromS === 0)
    return new ServicesPolicy({
      model,
      services: present.map(({ service }) => service),
      expectedPerS: Object.fromEntries(
        task.services.map(({ service, meanPerS, toldFactor = 1 }) => [
          service.name,
          loadFactor * toldFactor * meanPerS,
        ]),
      ),
      plan: (mix, goal) => plan(mix, part === 'lean-tenants' && goal === 'min-power' ? 'max-load' : goal),
    })
  }

  function scheduled(neededMhz: readonly (number | undefined)[]): PowerCapPolicy {
    const { min, max } = model.spec.powerLimitW
    const { memClockMhz } = clocks
    let powerCapW = 0
    const at = (timeMs: number) => {
      const highestMhz = planClocks(model, tenants, powerCapW, [memClockMhz]).smClockMhz
      return Math.min(neededMhz[Math.floor(timeMs / SLOT_MS)] ?? clocks.smClocksMhz.at(-1)!, highestMhz)
    }
    const capped = (capW: number) => {
      powerCapW = capW
      return { powerLimitW: Math.min(max, Math.max(min, capW)), reason: 'cap' }
    }
    return {
      name: 'schedule',
      start: (capW) => ({ ...capped(capW), tenants, memClockMhz, smClockMhz: at(0) }),
      onSample: ({ timeMs }) => ({ smClockMhz: at(timeMs), reason: 'arrivals' }),
      onWindow: () => undefined,
      onCapChange: capped,
      onServicesChange: () => undefined,
      takeDecisions: () => [],
    }
  }
}

/** Calls a function while the methods of a part have their stand-ins. */
async function switchedOff<T>(part: string, call: () => Promise<T>): Promise<T> {
  const [prototype, name, standInFor] = parts[part] ?? [{}, '', () => () => undefined]
  const before = Object.getOwnPropertyDescriptor(prototype, name)
  if (before === undefined) return call()
  const standIn = standInFor(before.value)
  const made = function (this: object, ...args: unknown[]) {
    return standIn(this, ...args)
  }
  Object.defineProperty(prototype, name, { configurable: true, [before.get ? 'get' : 'value']: made })
  try {
    return await call()
  } finally {
    Object.defineProperty(prototype, name, before)
  }
}

/**
 * Geometric mean of the ratios, their 95 % bootstrap interval over cells, the largest, and the numbers of cells that both
 * keep and that the opponent keeps.
 */
function ratio(cells: readonly CellResult[], opponent: string): string {
  const kept = cells.filter(({ figures }) => figures[opponent]!.keeps)
  const both = kept.filter(({ figures }) => figures['pctodl']!.keeps)
  if (both.length === 0) return '-'
  const logs = both.map(({ figures }) => Math.log(figures['pctodl']!.joules / figures[opponent]!.joules))
  const random = new SeededRandom(both.length)
  const means = Array.from({ length: RESAMPLES }, () => mean(logs.map(() => logs[random.integer(logs.length)]!)))
  const text = [mean(logs), quantile(means, 0.025), quantile(means, 0.975), Math.max(...logs)].map((log) =>
    Math.exp(log).toFixed(3),
  )
  return `${text[0]} (${text[1]} to ${text[2]}), ${text[3]}, n ${both.length} of ${kept.length}`
}

// One file for each seed and set of parts, so that no table mixes the cells of two.
const name = ['services', options.seed, options.without].filter(Boolean).join('-')
const out = path.resolve(import.meta.dirname, `../node_modules/.cache/${name}.jsonl`)
const known = existsSync(out) ? readFileSync(out, 'utf8').trim().split('\n').filter(Boolean) : []
const results = known.map((line): CellResult => {
  const { cell, kind, ...figures } = JSON.parse(line)
  return { cell, kind, figures }
})
mkdirSync(path.dirname(out), { recursive: true })
const random = new SeededRandom(options.seed)
for (let i = 0; i < options.cells; i++) {
  const [kind, tasks] = Object.entries(kinds)[i % 3]!
  const board = `${['3080Ti', 'A100'][random.integer(2)]}~v${1 + random.integer(8)}`
  const cell = `${board}:${tasks[random.integer(tasks.length)]}:${1 + random.integer(3)}`
  if (results.some((result) => result.cell === cell)) continue
  const figures = await runCell(cell, options.seed + i)
  results.push({ cell, kind, figures })
  appendFileSync(out, `${JSON.stringify({ cell, kind, ...figures })}\n`)
}
console.table(
  Object.keys(kinds).map((kind) => {
    const cells = results.filter((result) => result.kind === kind)
    return { kind, ...Object.fromEntries(opponents.map((name) => [`over ${name}`, ratio(cells, name)])) }
  }),
)
console.table(
  ['pctodl', ...opponents].map((name) => {
    const runs = results.map(({ figures }) => figures[name]!)
    const worst = runs.map((run) => run.worst)
    return {
      [without.length > 0 ? 'without' : 'policy']: name,
      'worst service, mean %': mean(worst).toFixed(2),
      'worst cell %': Math.min(...worst).toFixed(2),
      'shed or failed': sum(runs.map(({ unanswered = 0 }) => unanswered)),
    }
  }),
)
