/**
 * Tests whether the cap holds for any load. Random cases combine changing loads, wrong models and misleading sensors on
 * boards that differ from the calibrated one; the boards' true power is judged. Prints a table, names each case that
 * misses a bound, and exits with 1 if there is one.
 *
 *   pnpm control-scenarios [--cases 14] [--kinds 'load on;tenants die'] [--seed 1] [--policies pctodl,directcap,fixed-clock]
 *     [--variants 16] [--numbers 3,5] [--limit-factor 0.998] [--workers 2] [--results results.json] [--write]
 *   pnpm ablate [the same options]
 *
 * Each case runs on the shipped board or on a random variant of it. `--cases` is the number of cases of each kind. 14
 * cases combine every network with both boards; with fewer, the seed chooses among these combinations. `--numbers` runs
 * the cases with these numbers again. Policies named `pctodl-<mechanism>` lack one mechanism of the clock controller;
 * they are compared with pctodl in a second table. `pnpm ablate` compares all of them.
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { clockMechanisms } from '@pctodl/thermo-dvfs'
import { scenarioPolicy } from './control-scenarios/run-scenario.js'
import { drawScenario, kindsNamed } from './control-scenarios/scenarios.js'
import { ablationTable, tableOf } from './control-scenarios/table.js'
import { runInWorkers } from './control-scenarios/worker.js'
import { printUsage } from './evaluation/print-usage.js'
import { writeReadmeBlock } from './evaluation/readme-block.js'

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '14' },
    kinds: { type: 'string', default: '' },
    numbers: { type: 'string' },
    seed: { type: 'string', default: '1' },
    policies: { type: 'string', default: 'pctodl,directcap,fixed-clock' },
    ablate: { type: 'boolean', default: false },
    variants: { type: 'string', default: '16' },
    'limit-factor': { type: 'string' },
    results: { type: 'string' },
    workers: { type: 'string', default: '2' },
    write: { type: 'boolean', default: false },
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
const named = values.ablate
  ? ['pctodl', ...clockMechanisms.map((name) => `pctodl-${name}`)]
  : values.policies.split(',')
const policies = named.map(scenarioPolicy)
const limitFactor = values['limit-factor'] === undefined ? null : Number(values['limit-factor'])
const orders = kindsNamed(values.kinds)
  .flatMap((kind) => numbersOf(kind).map((number) => drawScenario(kind, number, seed, Number(values.variants))))
  .map((scenario) => ({ scenario, policies, limitFactor }))

const results = await runInWorkers(orders, Number(values.workers))
if (values.results !== undefined) writeFileSync(values.results, JSON.stringify(results))
const { markdown, missed } = tableOf(results)
process.stdout.write(`${markdown}\n\n${missed.map((line) => `- ${line}\n`).join('')}\n${ablationTable(results)}`)
if (values.write) {
  writeReadmeBlock(path.resolve(import.meta.dirname, '../docs/results.md'), 'control:scenarios', markdown)
}
process.exitCode = missed.length === 0 ? 0 : 1
