/**
 * Predicts how much energy a moving clock can save by hindsight: the best single clock compared with the lowest
 * sufficient clock of every moment, on the same tenants. Takes about a minute.
 *
 *   npx tsx --conditions=@pctodl/source scripts/moving-clock.ts [--write]
 *
 * `--write` puts the table into docs/results.md.
 */
import path from 'node:path'
import { serverTasks } from '@pctodl/bench-runner/server'
import { mean, sum } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { planWithModel, ServingClocks } from '@pctodl/scheduler'
import { writeReadmeBlock } from './evaluation/readme-block.js'

const boards = { '3080Ti': 240, A100: 190 } as const
const tasks = [501, 503, 504, 506]
/** Rates of moments of equal length, as fractions of the peak. */
const sine = (lowest: number) =>
  Array.from({ length: 12 }, (_, i) => lowest + ((1 - lowest) / 2) * (1 - Math.cos((Math.PI * (i + 0.5)) / 6)))
const peaks = (share: number) => Array.from({ length: 20 }, (_, i) => (i < 20 * share ? 1 : 0.1))
const shapes: readonly (readonly [string, readonly number[]])[] = [
  ['day, sine from .5 to 1 of the peak', sine(0.5)],
  ['day, sine from .1 to 1', sine(0.1)],
  ['peak for half of the time, else .1', peaks(0.5)],
  ['peak for 20 % of the time, else .1', peaks(0.2)],
  ['peak for 5 % of the time, else .1', peaks(0.05)],
]
/** Peaks as fractions of the highest rates that the tenants can serve under the cap. */
const loads = [0.3, 0.6, 0.9]
/** Share of the requests that the single clock must answer within the objective. */
const ATTAINMENT = 0.99

interface Saving {
  /** Mean power relative to the best single clock, if only the SM clock moves. */
  readonly smClock: number
  /** The same, if the memory clock moves, too. */
  readonly both: number
}

/** @returns savings by shape and load, and the factor on the task's rates that its tenants can serve */
function savingsOf(board: keyof typeof boards, taskId: number): { savings: Saving[][]; full: number } {
  const model = loadPerfModel(board)
  const plan = planWithModel(model)
  const { services: all } = serverTasks.find(({ board: of, id }) => of === board && id === taskId)!
  const services = all.map(({ service }) => service)
  const powerCapW = boards[board]
  const ratesAt = (factor: number) => all.map(({ meanPerS }) => Math.max(0.01, factor * meanPerS))
  const planned = (factor: number, goal: 'max-load' | 'min-power') =>
    plan({ services, ratesPerS: ratesAt(factor), powerCapW }, goal)
  const clocksOf = ({ tenants }: NonNullable<ReturnType<typeof planned>>) =>
    model.memClocksMhz.map((memClockMhz) => new ServingClocks(model, tenants, services, memClockMhz))
  const most = planned(1, 'max-load')!
  const powerW = (clocks: ServingClocks, smClockMhz: number, factor: number) =>
    clocks.predict(smClockMhz, ratesAt(factor)).powerW
  const isServed = (factor: number) =>
    clocksOf(most).some((clocks) => {
      const lowest = clocks.lowest(ratesAt(factor))
      return lowest !== undefined && powerW(clocks, lowest, factor) <= powerCapW
    })
  let [full, beyond] = [0.05, 20]
  while (beyond / full > 1.001) {
    const middle = Math.sqrt(full * beyond)
    if (isServed(middle)) full = middle
    else beyond = middle
  }
  const saving = (shape: readonly number[], load: number): Saving => {
    const factors = shape.map((rate) => load * full * rate)
    const memories = clocksOf(planned(load * full, 'min-power') ?? most)
    const least = memories.map((clocks) => {
      const locked = clocks.lowestWhere((clock) =>
        services.every((_, i) => {
          const inTime = factors.map(
            (factor) => factor * clocks.predict(clock, ratesAt(factor)).services[i]!.attainment,
          )
          return sum(inTime) / sum(factors) >= ATTAINMENT
        }),
      )
      if (locked === undefined) return { lockedW: Number.POSITIVE_INFINITY, movedW: Number.POSITIVE_INFINITY }
      const lowest = (factor: number) => Math.min(locked, clocks.lowest(ratesAt(factor)) ?? locked)
      return {
        lockedW: mean(factors.map((factor) => powerW(clocks, locked, factor))),
        movedW: mean(factors.map((factor) => powerW(clocks, lowest(factor), factor))),
      }
    })
    const lockedW = Math.min(...least.map((each) => each.lockedW))
    const bothW = factors.map((factor) =>
      Math.min(
        ...memories.map((clocks) => {
          const lowest = clocks.lowest(ratesAt(factor))
          return lowest === undefined ? Number.POSITIVE_INFINITY : powerW(clocks, lowest, factor)
        }),
      ),
    )
    return { smClock: Math.min(...least.map((each) => each.movedW)) / lockedW, both: mean(bothW) / lockedW }
  }
  return { savings: shapes.map(([, shape]) => loads.map((load) => saving(shape, load))), full }
}

const found = {
  '3080Ti': tasks.map((id) => savingsOf('3080Ti', id)),
  A100: tasks.map((id) => savingsOf('A100', id)),
}
const range = (values: readonly number[]) => `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}`
const rows = shapes.flatMap(([name], s) =>
  loads.map((load, l) => {
    const of = (board: keyof typeof boards, what: keyof Saving) =>
      range(found[board].map(({ savings }) => savings[s]![l]![what]))
    return `| ${name} | ${load} | ${of('3080Ti', 'smClock')} | ${of('3080Ti', 'both')} | ${of('A100', 'smClock')} |`
  }),
)
const used = (board: keyof typeof boards) => range(found[board].map(({ full }) => 1 / full))
const text = [
  [
    '| load | peak | 3080 Ti, SM clock | 3080 Ti, with memory | A100 |',
    '| --- | ---: | ---: | ---: | ---: |',
    ...rows,
  ].join('\n'),
  `Without scaling, the rates of these tasks are ${used('3080Ti')} (3080 Ti) and ${used('A100')} (A100) of the highest rates that the tenants can serve.`,
].join('\n\n')
process.stdout.write(`${text}\n`)
const page = path.resolve(import.meta.dirname, '../docs/results.md')
if (process.argv.includes('--write')) writeReadmeBlock(page, 'moving-clock', text)
