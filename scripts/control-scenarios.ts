/**
 * Tests whether the cap holds for any load. Random cases combine changing loads, wrong models and misleading sensors on
 * boards that differ from the calibrated one; the boards' true power is judged. Prints a table, names each case that
 * misses a bound, and exits with 1 if there is one.
 *
 *   pnpm control-scenarios [--cases 14] [--kinds 'load on;tenants die'] [--seed 1] [--policies pctodl,directcap,fixed-clock]
 *     [--variants 16] [--numbers 3,5] [--limit-factor 0.998] [--no-oracle] [--write] [--out FILE.json] [--events FILE.jsonl]
 *
 * Each case runs on the shipped board or on a random variant of it. `--cases` is the number of cases of each kind. 14
 * cases combine every network with both boards; with fewer, the seed chooses among these combinations.
 */
import { createWriteStream, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { runScenario, type ScenarioResult, scenarioPolicy } from './control-scenarios/run-scenario.js'
import { drawScenario, kindsNamed } from './control-scenarios/scenarios.js'
import { tableOf } from './control-scenarios/table.js'
import type { ScenarioOrder } from './control-scenarios/worker.js'
import { printUsage } from './evaluation/print-usage.js'
import { writeReadmeBlock } from './evaluation/readme-block.js'
import { runInWorkers } from './evaluation/run-in-workers.js'

const RESULTS = path.resolve(import.meta.dirname, '../docs/results.md')
const WORKER = path.resolve(import.meta.dirname, 'control-scenarios/worker.ts')

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '14' },
    kinds: { type: 'string', default: '' },
    numbers: { type: 'string' },
    seed: { type: 'string', default: '1' },
    policies: { type: 'string', default: 'pctodl,directcap,fixed-clock' },
    variants: { type: 'string', default: '16' },
    'limit-factor': { type: 'string' },
    workers: { type: 'string', default: '2' },
    'no-oracle': { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    out: { type: 'string' },
    events: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) printUsage(import.meta.filename)
const seed = Number(values.seed)
const cases = Number(values.cases)
const ALL_PAIRS = 14
const numbersOf = (kind: string): number[] => {
  if (values.numbers !== undefined) return values.numbers.split(',').map(Number)
  const random = new SeededRandom(seedFrom('control-numbers', kind, seed))
  const pairs = Array.from({ length: Math.max(cases, ALL_PAIRS) }, (_, i) => i)
  return Array.from({ length: cases }, () => pairs.splice(cases < ALL_PAIRS ? random.integer(pairs.length) : 0, 1)[0]!)
}
const policies = values.policies.split(',').map(scenarioPolicy)
const limitFactor = values['limit-factor'] === undefined ? null : Number(values['limit-factor'])
const orders: ScenarioOrder[] = kindsNamed(values.kinds)
  .flatMap((kind) => numbersOf(kind).map((number) => drawScenario(kind, number, seed, Number(values.variants))))
  .map((scenario) => ({ scenario, policies, limitFactor, oracle: !values['no-oracle'] }))

if (values.events !== undefined) {
  const file = createWriteStream(values.events)
  const onEvent = (event: unknown) => file.write(`${JSON.stringify(event)}\n`)
  const result = await runScenario(orders[0]!.scenario, policies[0]!, { limitFactor, oracle: false, onEvent })
  process.stdout.write(`${JSON.stringify(result, null, 1)}\n`)
} else {
  const started = performance.now()
  const answers = await runInWorkers<ScenarioOrder, ScenarioResult[]>(
    WORKER,
    Number(values.workers),
    orders,
    (_, left) => {
      if (left % 20 === 0) process.stderr.write(`${orders.length - left}/${orders.length}\n`)
    },
  )
  const results = answers.flat()
  const { markdown, missed } = tableOf(results)
  const minutes = ((performance.now() - started) / 60_000).toFixed(1)
  const times = results.filter(({ policy }) => policy === 'pctodl').map(({ stepP99Us }) => stepP99Us)
  process.stdout.write(`${markdown}\n\n${missed.map((line) => `- ${line}\n`).join('')}\n`)
  times.sort((a, b) => a - b)
  process.stdout.write(
    `step p99: median run ${times[times.length >> 1]?.toFixed(0)} us, worst ${times.at(-1)?.toFixed(0)} us\n`,
  )
  process.stdout.write(`${results.length} runs in ${minutes} minutes\n`)
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(results)}\n`)
  if (values.write) writeReadmeBlock(RESULTS, 'control:scenarios', markdown)
  process.exitCode = missed.length === 0 ? 0 : 1
}
