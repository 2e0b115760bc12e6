/**
 * Measures what each part of the law for services contributes: the same loads run with and without the part.
 *
 *   pnpm ablate:services [--seed 41] [--cells 3080Ti:508:3,A100:517:1] [--without caution,queues]
 *
 * A cell is a board, a task and a factor on the task's rates. Prints, for the complete law and without each part:
 * attainment of the worst service (mean and worst cell), requests shed or failed, and energy per request answered within
 * its objective relative to the complete law (geometric mean).
 */
import { runServerLoad, serverTasksOf } from '@pctodl/bench-runner/server'
import { mean, sum } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { planWithModel, ServicesPolicy, ServingClocks } from '@pctodl/scheduler'
import { ArrivalRate } from '../packages/scheduler/src/services/arrival-rate.js'
import { CapLaw } from '../packages/scheduler/src/services/cap-law.js'
import { ServiceWatch } from '../packages/scheduler/src/services/service-watch.js'
import { scriptOptions } from './evaluation/script-options.js'

const CELLS =
  '3080Ti:508:2.6,3080Ti:511:2.8,3080Ti:517:1.2,3080Ti:518:1,3080Ti:520:2.4,3080Ti:521:1.1,A100:509:2.2,A100:511:2.6,A100:514:2.5,A100:518:2.2,A100:520:1.3,A100:521:2.8'

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

const options = scriptOptions(import.meta.filename, { seed: 41, cells: CELLS, without: Object.keys(parts).join(',') })

async function serve(cell: string, without: string) {
  const [boardName, id, loadFactor] = cell.split(':') as [string, string, string]
  const task = serverTasksOf(boardName, [Number(id)])[0]!
  const load = { ...task, boardName, loadFactor: Number(loadFactor), seed: options.seed }
  const model = loadPerfModel(boardName)
  const plan = planWithModel(model, without === 'tenants-for-bursts' ? { burstiness: 1 } : {})
  const policy = new ServicesPolicy({
    model,
    services: task.services.filter(({ fromS = 0 }) => fromS === 0).map(({ service }) => service),
    expectedPerS: Object.fromEntries(
      task.services.map(({ service, meanPerS, toldFactor = 1 }) => [
        service.name,
        load.loadFactor * toldFactor * meanPerS,
      ]),
    ),
    plan: (mix, goal) => plan(mix, without === 'lean-tenants' && goal === 'min-power' ? 'max-load' : goal),
  })
  const { services, energyPerRequestJ } = await runServerLoad(load, policy)
  return {
    worst: 100 * Math.min(...services.map(({ attainment }) => attainment ?? 0)),
    shed: sum(services.map(({ shed, failed }) => shed + failed)),
    joules: energyPerRequestJ ?? Number.NaN,
  }
}

/** Runs all cells without a part. */
async function serveAll(without: string) {
  const [prototype, name, standInFor] = parts[without] ?? [{}, '', () => () => undefined]
  const before = Object.getOwnPropertyDescriptor(prototype, name)
  if (before) {
    const standIn = standInFor(before.value)
    const made = function (this: object, ...args: unknown[]) {
      return standIn(this, ...args)
    }
    Object.defineProperty(prototype, name, { configurable: true, [before.get ? 'get' : 'value']: made })
  }
  const runs = []
  for (const cell of options.cells.split(',')) runs.push(await serve(cell, without))
  if (before) Object.defineProperty(prototype, name, before)
  return runs
}

const complete = await serveAll('')
const rows = []
for (const without of ['', ...options.without.split(',').filter(Boolean)]) {
  const runs = without === '' ? complete : await serveAll(without)
  const worst = runs.map((run) => run.worst)
  rows.push({
    without: without || 'nothing',
    'worst service, mean %': mean(worst).toFixed(2),
    'worst cell %': Math.min(...worst).toFixed(2),
    shed: sum(runs.map(({ shed }) => shed)),
    'J/request over all': Math.exp(mean(runs.map(({ joules }, i) => Math.log(joules / complete[i]!.joules)))).toFixed(
      3,
    ),
  })
}
console.table(rows)
