/**
 * Compares the law for services with opponents that know more: the same arrivals on random boards, tasks and rates.
 *
 *   pnpm evaluate:services [--seed 8450000] [--cells 12]
 *
 * Opponents: `latency-governor`; `lock`, equal shares at the best locked clock; `schedule`, pctodl's first tenants at the
 * better of their best locked clock and a schedule of clocks that knows the arrivals of each half second. Both know the
 * judged arrivals, and use the least energy at which 99 % of each service's requests meet the objective. Prints energy per
 * request answered in time relative to each, in cells where both keep 99 % and the cap, and the attainment of the worst
 * service. A cell takes about 15 s of processor time; an interrupted call resumes.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createServerPolicy, runServerLoad, type ServerLoad, serverTasksOf } from '@pctodl/bench-runner/server'
import { mean, quantile, SeededRandom, seedFrom } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { capAt } from '@pctodl/platform'
import { equalShares, plannedShares } from '@pctodl/run/policy'
import { type PowerCapPolicy, planClocks, ServingClocks } from '@pctodl/scheduler'
import { arrivalTimes } from '@pctodl/traffic'
import { bestLockedClock } from '../packages/bench-runner/src/services/services-oracle.js'
import { scriptOptions } from './evaluation/script-options.js'

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
}

type Opponent = 'latency-governor' | 'lock' | 'schedule'

interface CellResult extends Readonly<Record<'pctodl' | Opponent, Figures>> {
  readonly cell: string
  readonly kind: string
}

const options = scriptOptions(import.meta.filename, { seed: 8_450_000, cells: 12 })

function figuresOf({ services, energyPerRequestJ, capHolds }: Awaited<ReturnType<typeof runServerLoad>>): Figures {
  const worst = 100 * Math.min(...services.map(({ attainment }) => attainment ?? 1))
  return { joules: energyPerRequestJ ?? Number.NaN, worst, keeps: capHolds && worst >= 99 }
}

const better = (a: Figures, b: Figures) =>
  a.keeps !== b.keeps ? (a.keeps ? a : b) : (a.keeps ? a.joules < b.joules : a.worst > b.worst) ? a : b

/** Runs one cell: a board, a task and a factor on its rates. */
async function runCell(kind: string, cell: string, seed: number): Promise<CellResult> {
  const [boardName, id, factor] = cell.split(':') as [string, string, string]
  const loadFactor = Number(factor)
  const task = serverTasksOf(boardName.split('~')[0]!, [Number(id)])[0]!
  const load: ServerLoad = { ...task, boardName, seed, loadFactor }
  const model = loadPerfModel(task.board)
  const run = async (policy: PowerCapPolicy) => figuresOf(await runServerLoad(load, policy))
  const named = (name: 'pctodl' | 'latency-governor') => run(createServerPolicy(name, task, { model, loadFactor }))
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
  return {
    cell,
    kind,
    pctodl: await named('pctodl'),
    'latency-governor': await named('latency-governor'),
    lock,
    schedule,
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

/** Geometric mean of the ratios, their 95 % bootstrap interval over cells, and the largest. */
function ratio(cells: readonly CellResult[], opponent: Opponent): string {
  const both = cells.filter((each) => each.pctodl.keeps && each[opponent].keeps)
  if (both.length === 0) return '-'
  const logs = both.map((each) => Math.log(each.pctodl.joules / each[opponent].joules))
  const random = new SeededRandom(both.length)
  const means = Array.from({ length: RESAMPLES }, () => mean(logs.map(() => logs[random.integer(logs.length)]!)))
  const text = [mean(logs), quantile(means, 0.025), quantile(means, 0.975), Math.max(...logs)].map((log) =>
    Math.exp(log).toFixed(3),
  )
  return `${text[0]} (${text[1]} to ${text[2]}), ${text[3]}, n ${both.length}`
}

// One file for each seed, so that no table mixes the cells of two.
const out = path.resolve(import.meta.dirname, `../node_modules/.cache/services-${options.seed}.jsonl`)
const known = existsSync(out) ? readFileSync(out, 'utf8').trim().split('\n').filter(Boolean) : []
const results: CellResult[] = known.map((line) => JSON.parse(line))
mkdirSync(path.dirname(out), { recursive: true })
const random = new SeededRandom(options.seed)
for (let i = 0; i < options.cells; i++) {
  const [kind, tasks] = Object.entries(kinds)[i % 3]!
  const board = `${['3080Ti', 'A100'][random.integer(2)]}~v${1 + random.integer(8)}`
  const cell = `${board}:${tasks[random.integer(tasks.length)]}:${1 + random.integer(3)}`
  if (results.some((result) => result.cell === cell)) continue
  const result = await runCell(kind, cell, options.seed + i)
  results.push(result)
  appendFileSync(out, `${JSON.stringify(result)}\n`)
}
console.table(
  Object.keys(kinds).map((kind) => {
    const cells = results.filter((result) => result.kind === kind)
    const kept = cells.filter((each) => each.schedule.keeps)
    const behind = cells.map((each) => each.pctodl.worst - Math.max(each['latency-governor'].worst, each.lock.worst))
    return {
      kind,
      'over lock (95 %), worst, cells': ratio(cells, 'lock'),
      'over schedule': ratio(cells, 'schedule'),
      'over latency-governor': ratio(cells, 'latency-governor'),
      '99 % kept where the schedule does': `${kept.filter((each) => each.pctodl.keeps).length} of ${kept.length}`,
      'attainment over the better opponent, worst points': Math.min(...behind).toFixed(2),
    }
  }),
)
