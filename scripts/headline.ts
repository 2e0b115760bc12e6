/**
 * Makes the headline table for the tasks of the paper or for services: pctodl compared with opponents that are fixed in
 * advance. Run `pnpm build` first.
 *
 *   npx tsx --conditions=@pctodl/source scripts/headline.ts paper [--variants 16] [--jobs 2] [--write]
 *   npx tsx --conditions=@pctodl/source scripts/headline.ts services [--variants 16] [--jobs 2] [--write]
 *
 * Each board of the ensemble takes about 40 s of processor time for `paper`, and 600 s for `services`, two thirds of
 * which is the search of locked clocks. An interrupted call resumes. `--write` puts the table into the README.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { median } from '@pctodl/numerics'
import {
  headlineCaption,
  headlineTable,
  type RunSummary,
  standings,
  standingsTable,
  tableAsMarkdown,
} from '@pctodl/report'
import { writeReadmeBlock } from './evaluation/readme-block.js'
import { printUsage, scriptOptions } from './evaluation/script-options.js'

const asked = {
  paper: ['--set', 'paper,equal-p99', '--algorithm', 'pctodl,plan-limit-step,equal-split-step,equal-split,morak-tuned'],
  services: [
    '--set',
    'services',
    '--algorithm',
    'pctodl,plan-limit-step,plan-fixed-clock,fixed-clock,equal-shares,latency-governor',
  ],
}

const defaults = { variants: 16, jobs: 2, write: false }
const { variants, jobs, write, positionals } = scriptOptions(import.meta.filename, defaults, true)
const [kind] = positionals
if (kind !== 'paper' && kind !== 'services') printUsage(import.meta.filename, 2)

const root = path.resolve(import.meta.dirname, '..')
const folder = path.join(root, 'node_modules/.cache/headline', `${kind}-${variants}`)
mkdirSync(folder, { recursive: true })
const options = [
  '--gpu',
  'all',
  ...asked[kind as keyof typeof asked],
  '--variants',
  String(variants),
  '--jobs',
  String(jobs),
]
const program = path.join(root, 'packages/bench-runner/bin/bench-runner.js')
const { stdout, status } = spawnSync(
  process.execPath,
  [program, ...options, '--result-dir', folder, '--resume', '--json'],
  { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 2 ** 30 },
)
if (status === null || status > 1) process.exit(status ?? 1)
const { summaries, failures } = JSON.parse(stdout) as { summaries: RunSummary[]; failures: unknown[] }
const found = standings(summaries)!
const command = `\`npx bench-runner ${options.join(' ').replace(/ --jobs \d+/, '')}\``
/** Medians of the tasks, because one task with a weak opponent can dominate a mean. */
const medians = [...new Set(found.tasks.map(({ board }) => board))].map((board) => {
  const of = (part: 'planning' | 'control') =>
    found.tasks.flatMap((task) => (task.board === board && task[part] ? task[part].value : []))
  const near = of('control').filter((ratio) => Math.abs(ratio - 1) <= 0.01).length
  const [planning, control] = [median(of('planning')), median(of('control'))].map((value) => value.toFixed(3))
  return `${board}: plan / no plan ${planning}, pctodl / plan ${control} (${near} of ${of('control').length} within 1 %)`
})
const text = [
  tableAsMarkdown(headlineTable(found)),
  `Medians over tasks. ${medians.join('; ')}.`,
  `${headlineCaption} Made by ${command}${failures.length > 0 ? `; ${failures.length} runs failed` : ''}.`,
].join('\n\n')
process.stdout.write(`${text}\n\n${tableAsMarkdown(standingsTable(found))}\n`)
if (write) writeReadmeBlock(path.join(root, 'README.md'), `headline:${kind}`, text)
