/**
 * Measures what each part of the law for services contributes: the same loads run with and without the part.
 *
 *   tsx --conditions=@pctodl/source scripts/ablate-services.ts [--seed 41] [--cells 3080Ti:508:3,A100:517:1] [--without caution,queues]
 *
 * Prints, for the complete law and without each part: attainment of the worst service (mean and worst cell), requests
 * shed or failed, energy per request answered within its objective relative to the complete law (geometric mean), and
 * clock changes per minute.
 */
import { parseArgs } from 'node:util'
import { runServerLoad, serverTasksOf } from '@pctodl/bench-runner/server'
import { loadPerfModel } from '@pctodl/perf-model'
import { planWithModel, ServicesPolicy, ServingClocks } from '@pctodl/scheduler'
import { ArrivalRate } from '../packages/scheduler/src/services/arrival-rate.js'
import { CapLaw } from '../packages/scheduler/src/services/cap-law.js'
import { ServiceWatch } from '../packages/scheduler/src/services/service-watch.js'
import { printUsage } from './evaluation/print-usage.js'

const CELLS =
  '3080Ti:508:2.6,3080Ti:511:2.8,3080Ti:517:1.2,3080Ti:518:1,3080Ti:520:2.4,3080Ti:521:1.1,A100:509:2.2,A100:511:2.6,A100:514:2.5,A100:518:2.2,A100:520:1.3,A100:521:2.8'

// biome-ignore lint/suspicious/noExplicitAny: a stand-in has the types of what it stands in for
type StandIn = (self: any, ...args: any[]) => unknown

/** Replaces a getter or method. The returned function restores it. */
function replaced(of: { prototype: object }, name: string, standIn: StandIn): () => void {
  const before = Object.getOwnPropertyDescriptor(of.prototype, name)!
  const getter = {
    get(this: object) {
      return standIn(this)
    },
  }
  const method = {
    value(this: object, ...args: unknown[]) {
      return standIn(this, ...args)
    },
  }
  Object.defineProperty(of.prototype, name, { configurable: true, ...(before.get ? getter : method) })
  return () => Object.defineProperty(of.prototype, name, before)
}

const { predict } = ServingClocks.prototype
const { update } = ServiceWatch.prototype
const { ceilingMhz } = CapLaw.prototype

/** Switches each part off. The parts `replan` and `lean-tenants` are switched off where the policy is created. */
const parts: Record<string, () => () => void> = {
  caution: () => replaced(ServiceWatch, 'readyPerS', ({ rate }) => rate.perS),
  // The model assumes Poisson traffic; the windows of the arrival rate still use the measured burstiness.
  burstiness: () => replaced(ServingClocks, 'predict', (self, clock, rates) => predict.call(self, clock, rates)),
  window: () => replaced(ArrivalRate, 'perS', (self) => self.meanPerS(1)),
  queues: () =>
    replaced(ServiceWatch, 'update', (self, timeMs, reading, excused) =>
      update.call(self, timeMs, { ...reading, queued: 0 }, excused),
    ),
  peaks: () => replaced(ArrivalRate, 'peakPerS', ({ perS }) => perS),
  dwell: () =>
    replaced(CapLaw, 'ceilingMhz', (self, memClockMhz, capW, wantedMhz, powerW) => {
      self.forget()
      return ceilingMhz.call(self, memClockMhz, capW, wantedMhz, powerW)
    }),
  offset: () => replaced(CapLaw, 'offsetW', () => 0),
  replan: () => () => undefined,
  'lean-tenants': () => () => undefined,
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '41' },
    cells: { type: 'string', default: CELLS },
    without: { type: 'string', default: Object.keys(parts).join(',') },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) printUsage(import.meta.filename)

async function serve(cell: string, without: string) {
  const [boardName, id, loadFactor] = cell.split(':') as [string, string, string]
  const task = serverTasksOf(boardName, [Number(id)])[0]!
  const load = { ...task, boardName, loadFactor: Number(loadFactor), seed: Number(values.seed) }
  const model = loadPerfModel(boardName)
  const plan = planWithModel(model)
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
  if (without === 'replan') policy.onIdle = () => undefined
  let changes = 0
  let askedMhz: unknown
  const onEvent = ({ type, ...event }: { type: string; action?: { smClockMhz?: unknown } }) => {
    const mhz = event.action?.smClockMhz
    if (type === 'action' && mhz !== undefined && mhz !== askedMhz) {
      changes++
      askedMhz = mhz
    }
  }
  const { services, energyPerRequestJ } = await runServerLoad(load, policy, { onEvent })
  const worst = Math.min(...services.map(({ attainment }) => attainment ?? 0))
  const shed = services.reduce((sum, service) => sum + service.shed + service.failed, 0)
  return { cell, worst, shed, joules: energyPerRequestJ ?? Number.NaN, perMinute: (60 * changes) / load.durationS }
}

const mean = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length
let all: Awaited<ReturnType<typeof serve>>[] = []
console.log(
  '| without | worst service, mean % | worst cell % | shed | J/request over all | changes/min |\n| - | - | - | - | - | - |',
)
for (const without of ['', ...values.without.split(',').filter(Boolean)]) {
  const restore = parts[without]?.()
  const runs: typeof all = []
  for (const cell of values.cells.split(',')) runs.push(await serve(cell, without))
  restore?.()
  if (without === '') all = runs
  const worst = runs.map((run) => 100 * run.worst)
  const ratio = Math.exp(mean(runs.map((run, i) => Math.log(run.joules / all[i]!.joules))))
  const shed = runs.reduce((sum, run) => sum + run.shed, 0)
  console.log(
    `| ${without || 'nothing'} | ${mean(worst).toFixed(2)} | ${Math.min(...worst).toFixed(2)} | ${shed} | ${ratio.toFixed(3)} | ${mean(runs.map(({ perMinute }) => perMinute)).toFixed(1)} |`,
  )
}
