/**
 * Tests whether the cap holds for any load. Random cases combine changing loads, wrong models and misleading sensors on
 * boards that differ from the calibrated one; the boards' true power is judged. Prints a table, names each case that
 * misses a bound, and exits with 1 if there is one.
 *
 *   pnpm control-scenarios [--cases 14] [--kinds 'load on;tenants die'] [--seed 1] [--policies pctodl,directcap,fixed-clock]
 *     [--variants 16] [--numbers 3,5] [--limit-factor 0.998] [--workers 2] [--write]
 *   pnpm ablate [the same options]
 *
 * Each case runs on the shipped board or on a random variant of it. `--cases` is the number of cases of each kind. 14
 * cases combine every network with both boards; with fewer, the seed chooses among these combinations. `--numbers` runs
 * the cases with these numbers again. Policies named `pctodl-<mechanism>` lack one mechanism of the clock controller;
 * they are compared with pctodl in a second table. `pnpm ablate` compares all of them.
 */
import path from 'node:path'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { clockMechanisms } from '@pctodl/thermo-dvfs'
import { scenarioPolicy } from './control-scenarios/run-scenario.js'
import { drawScenario, kindsNamed } from './control-scenarios/scenarios.js'
import { ablationTable, tableOf } from './control-scenarios/table.js'
import { runInWorkers } from './control-scenarios/worker.js'
import { writeReadmeBlock } from './evaluation/readme-block.js'
import { refuse, scriptOptions } from './evaluation/script-options.js'

const options = scriptOptions(import.meta.filename, {
  cases: 14,
  kinds: '',
  numbers: '',
  seed: 1,
  policies: 'pctodl,directcap,fixed-clock',
  ablate: false,
  variants: 16,
  'limit-factor': 0,
  workers: 2,
  write: false,
})
if (options.workers < 1) refuse(`--workers: got ${options.workers}, expected at least 1`)
const { seed, cases } = options
const ALL_PAIRS = 14
const numbersOf = (kind: string): number[] => {
  if (options.numbers !== '') return options.numbers.split(',').map(Number)
  const random = new SeededRandom(seedFrom('control-numbers', kind, seed))
  const pairs = Array.from({ length: Math.max(cases, ALL_PAIRS) }, (_, i) => i)
  return Array.from({ length: cases }, () => pairs.splice(cases < ALL_PAIRS ? random.integer(pairs.length) : 0, 1)[0]!)
}
const named = options.ablate
  ? ['pctodl', ...clockMechanisms.map((name) => `pctodl-${name}`)]
  : options.policies.split(',')
const policies = named.map(scenarioPolicy)
const limitFactor = options['limit-factor'] || null
const orders = kindsNamed(options.kinds)
  .flatMap((kind) => numbersOf(kind).map((number) => drawScenario(kind, number, seed, options.variants)))
  .map((scenario) => ({ scenario, policies, limitFactor }))

const results = await runInWorkers(orders, options.workers)
const { markdown, missed } = tableOf(results)
process.stdout.write(`${markdown}\n\n${missed.map((line) => `- ${line}\n`).join('')}\n${ablationTable(results)}`)
if (options.write) {
  writeReadmeBlock(path.resolve(import.meta.dirname, '../docs/results.md'), 'control:scenarios', markdown)
}
process.exitCode = missed.length === 0 ? 0 : 1
