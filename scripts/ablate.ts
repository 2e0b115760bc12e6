/**
 * Measures what each mechanism of the clock controller contributes: random cases run with and without it, in pairs.
 *
 *   pnpm ablate control [--cases 19] [--seed 1] [--kinds 'steps;late'] [--without guard,delay] [--workers 2]
 *
 * Prints, for each mechanism switched off alone: cases within the bounds, mean and worst time above the cap, throughput
 * without the mechanism divided by throughput with it, and clock changes per minute, with 95 % intervals of the paired
 * differences.
 */
import path from 'node:path'
import { parseArgs } from 'node:util'
import { mean, sampleVariance } from '@pctodl/numerics'
import { clockMechanisms } from '@pctodl/thermo-dvfs'
import type { ScenarioPolicy, ScenarioResult } from './control-scenarios/run-scenario.js'
import { drawScenario, kindsNamed } from './control-scenarios/scenarios.js'
import { isWithin } from './control-scenarios/table.js'
import type { ScenarioOrder } from './control-scenarios/worker.js'
import { printUsage } from './evaluation/print-usage.js'
import { runInWorkers } from './evaluation/run-in-workers.js'

const WORKER = path.resolve(import.meta.dirname, 'control-scenarios/worker.ts')
const VARIANTS = 16

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    cases: { type: 'string', default: '19' },
    seed: { type: 'string', default: '1' },
    kinds: { type: 'string', default: '' },
    without: { type: 'string', default: clockMechanisms.join(',') },
    workers: { type: 'string', default: '2' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) printUsage(import.meta.filename)
if (positionals.join() !== 'control') {
  process.stderr.write(`what to ablate: got ${positionals.join(' ') || 'nothing'}; control\n`)
  process.exit(2)
}
const policies = ['pctodl', ...values.without.split(',').map((name) => `pctodl-${name}`)] as ScenarioPolicy[]
const orders: ScenarioOrder[] = kindsNamed(values.kinds)
  .flatMap((kind) =>
    Array.from({ length: Number(values.cases) }, (_, i) => drawScenario(kind, i, Number(values.seed), VARIANTS)),
  )
  .map((scenario) => ({ scenario, policies, limitFactor: null, oracle: false }))

const results = await runInWorkers<ScenarioOrder, ScenarioResult[]>(
  WORKER,
  Number(values.workers),
  orders,
  (_, left) => {
    if (left % 20 === 0) process.stderr.write(`${orders.length - left}/${orders.length}\n`)
  },
)
const lines = policies.map((policy, column) => {
  const runs = results.map((ofCase) => ofCase[column]!)
  const pairs = results.map((ofCase) => [ofCase[0]!, ofCase[column]!] as const)
  const above = runs.map(({ avoidablePercent }) => avoidablePercent)
  return [
    column === 0
      ? 'all of it'
      : policy === 'pctodl-shadow'
        ? 'with the shadow optimizer'
        : `without ${policy.slice('pctodl-'.length)}`,
    `${runs.filter(isWithin).length} of ${runs.length}`,
    `${mean(above).toFixed(3)} / ${Math.max(...above).toFixed(2)}`,
    interval(pairs.map(([all, without]) => without.avoidablePercent - all.avoidablePercent)),
    interval(pairs.map(([all, without]) => without.throughput / Math.max(1, all.throughput))),
    mean(runs.map(({ clockChangesPerMinute }) => clockChangesPerMinute)).toFixed(1),
  ]
})
const titles = [
  '',
  'cases within',
  'above the cap, %: mean / worst',
  'more above, points',
  'throughput, factor',
  'clock changes a minute',
]
process.stdout.write([titles, titles.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |\n`).join(''))

/** Formats a mean with its 95 % interval. */
function interval(values: readonly number[]): string {
  return `${mean(values).toFixed(3)} +- ${(1.96 * Math.sqrt(sampleVariance(values) / values.length)).toFixed(3)}`
}
