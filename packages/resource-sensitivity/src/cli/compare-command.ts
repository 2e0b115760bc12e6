import { listOf, newSubcommand, oneOf, Progress, type Terminal } from '@pctodl/command-line'
import type { Command } from 'commander'
import { type MechanismName, mechanismNames, type PolicyName, policyNames } from '../engine/scheduling-options.js'
import { formatScheduleTable } from '../report/schedule-table.js'
import { drawCharts } from './draw-charts.js'
import { addScheduleOptions, runSchedule, type ScheduleOptions, type ScheduleRun, solverFor } from './run-schedule.js'
import { addScenarioOptions, loadScenario, type ScenarioOptions } from './scenario.js'
import { scheduleDocument } from './schedule-document.js'

interface CompareOptions extends ScenarioOptions, ScheduleOptions {
  readonly policies?: PolicyName[]
  readonly mechanisms?: MechanismName[]
  readonly plot?: string
  readonly json?: boolean
}

/** What the gain of the others is counted from. */
const BASELINE = 'fair'

export function addCompareCommand(parent: Command, terminal: Terminal): void {
  const command = newSubcommand(
    parent,
    'compare',
    'Run one trace under several policies and mechanisms; the gain is over fair, of the same policy.',
    terminal,
  )
    .option(
      '--policies <names>',
      `comma list of ${policyNames.join(', ')} (default srtf)`,
      listOf(oneOf(...policyNames)),
    )
    .option(
      '--mechanisms <names>',
      `comma list of ${mechanismNames.join(', ')} (default fair,greedy,tune)`,
      listOf(oneOf(...mechanismNames)),
    )
  addScheduleOptions(addScenarioOptions(command))
    .option('--plot <folder>', 'draw the distributions of completion times and what is in use over time')
    .option('--json', 'print JSON on standard output')
    .addHelpText(
      'after',
      '\nExample:\n  pctodl-sensitivity compare --generate 1000 --load 6 --policies fifo,srtf,las --mechanisms fair,tune\n',
    )
    .action(async () => {
      const options = command.opts<CompareOptions>()
      const { policies = ['srtf'], mechanisms = ['fair', 'greedy', 'tune'] } = options
      const scenario = loadScenario(options)
      for (const { message } of scenario.skipped) terminal.stderr.write(`skipped: ${message}\n`)
      const solver = await solverFor(mechanisms)
      const progress = new Progress(terminal.stderr, policies.length * mechanisms.length)
      const runs: ScheduleRun[] = []
      for (const policy of policies) {
        for (const mechanism of mechanisms) {
          terminal.signal.throwIfAborted()
          progress.begin(`${policy} ${mechanism}`)
          const run = runSchedule(scenario, policy, mechanism, options, solver)
          runs.push(run)
          progress.end(`${policy} ${mechanism}`, `mean ${(run.summary.meanCompletionS / 3600).toFixed(2)} h`)
          // Let an interrupt be seen between the runs.
          await new Promise((resolve) => setImmediate(resolve))
        }
      }
      const files = options.plot === undefined ? [] : await drawCharts(options.plot, runs)
      const summaries = runs.map(({ summary }) => summary)
      const written = files.map((file) => `written: ${file}\n`).join('')
      terminal.stdout.write(
        options.json === true
          ? `${JSON.stringify(scheduleDocument(scenario, options, { summaries, files }), null, 2)}\n`
          : `${formatScheduleTable(summaries, BASELINE)}\n${written}`,
      )
    })
}
