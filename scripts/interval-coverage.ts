/**
 * Measures how often the 95 % intervals of the tables contain the truth. Boards are drawn, with replacement, from a
 * large set of simulated boards that were all run. The interval of each draw is compared with the figure over the whole
 * set, which stands for the population.
 *
 *   npx bench-runner --gpu all --task-id 6 20 --algorithm pctodl,plan-limit-step,equal-split-step,morak-tuned --iterations 12 --variants 200 \
 *     --result-dir boards --json > boards.json
 *   npx tsx --conditions=@pctodl/source scripts/interval-coverage.ts boards.json [--draws 1000] [--boards 16 24 48]
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { SeededRandom } from '@pctodl/numerics'
import { type Ratio, type RunSummary, standings, taskKey } from '@pctodl/report'
import { printUsage } from './evaluation/print-usage.js'

const { values, positionals } = parseArgs({
  options: {
    draws: { type: 'string', default: '1000' },
    boards: { type: 'string', default: '16' },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const [file, ...more] = positionals
if (values.help || file === undefined) printUsage(import.meta.filename)
const { summaries } = JSON.parse(readFileSync(file!, 'utf8')) as { summaries: RunSummary[] }
const random = new SeededRandom(1)

for (const key of new Set(summaries.map(taskKey))) {
  const runs = summaries.filter((run) => taskKey(run) === key)
  const instances = [...new Set(runs.map(({ instance }) => instance))]
  const byInstance = new Map(instances.map((instance) => [instance, runs.filter((run) => run.instance === instance)]))
  const figures = (drawn: readonly (string | undefined)[]) => {
    const renamed = drawn.flatMap((instance, i) =>
      byInstance.get(instance)!.map((run) => ({ ...run, instance: `${i}` })),
    )
    const { ratio, planning, control } = standings(renamed)!.tasks[0]!
    return { ratio, planning, control }
  }
  const truth = figures(instances)
  for (const count of [values.boards, ...more].map(Number)) {
    const held = { ratio: 0, planning: 0, control: 0 }
    for (let draw = 0; draw < Number(values.draws); draw++) {
      const found = figures(Array.from({ length: count }, () => instances[random.integer(instances.length)]))
      for (const name of ['ratio', 'planning', 'control'] as const) if (holds(found[name], truth[name])) held[name]++
    }
    const share = (name: keyof typeof held) =>
      `${name} ${(held[name] / Number(values.draws)).toFixed(3)} (${truth[name]?.value.toFixed(4) ?? '-'})`
    console.log(
      `${key}: ${count} of ${instances.length} boards: ${share('ratio')}, ${share('planning')}, ${share('control')}`,
    )
  }
}

function holds(found: Ratio | null, truth: Ratio | null): boolean {
  const spread = found?.spread
  return spread?.kind === 'interval' && truth !== null && spread.low <= truth.value && truth.value <= spread.high
}
