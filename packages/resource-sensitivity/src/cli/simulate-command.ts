import { newSubcommand, oneOf, type Terminal, UsageError, writeFileAtomically } from '@pctodl/command-line'
import type { Command } from 'commander'
import { type MechanismName, mechanismNames, type PolicyName, policyNames } from '../engine/scheduling-options.js'
import { formatScheduleTable } from '../report/schedule-table.js'
import type { SimulationOptions } from '../simulate/simulation-options.js'
import { drawCharts } from './draw-charts.js'
import { addScheduleOptions, type JobOutcome, runSchedule, type ScheduleOptions, solverFor } from './run-schedule.js'
import { addScenarioOptions, loadScenario, type ScenarioOptions } from './scenario.js'
import { scheduleDocument } from './schedule-document.js'

interface SimulateOptions extends ScenarioOptions, ScheduleOptions {
  readonly policy: PolicyName
  readonly mechanism: MechanismName
  readonly actions?: string
  readonly jobsCsv?: string
  readonly plot?: string
  readonly json?: boolean
}

export function addSimulateCommand(parent: Command, terminal: Terminal): void {
  const command = newSubcommand(
    parent,
    'simulate',
    'Run a trace of jobs on a cluster under one policy and one mechanism.',
    terminal,
  )
    .option('--policy <name>', `who comes first: ${policyNames.join(', ')}`, oneOf(...policyNames), 'srtf')
    .option('--mechanism <name>', `who gets what: ${mechanismNames.join(', ')}`, oneOf(...mechanismNames), 'tune')
  addScheduleOptions(addScenarioOptions(command))
    .option('--actions <file>', 'a dry run: write what a cluster would be told to do, a line of JSON for each action')
    .option('--jobs-csv <file>', 'write what became of every job')
    .option('--plot <folder>', 'draw the distribution of completion times and what is in use over time')
    .option('--json', 'print JSON on standard output')
    .addHelpText(
      'after',
      '\nExample:\n  pctodl-sensitivity simulate --generate 1000 --load 6 --policy srtf --mechanism tune --plot charts\n',
    )
    .action(async () => {
      const options = command.opts<SimulateOptions>()
      const solver = await solverFor([options.mechanism])
      const scenario = loadScenario(options)
      for (const { message } of scenario.skipped) terminal.stderr.write(`skipped: ${message}\n`)
      if (options.actions !== undefined && (options.published === true || options.compat === true)) {
        throw new UsageError('--published knows rounds and no actions; leave it or --actions out')
      }
      const lines: string[] = []
      const note: SimulationOptions['onActions'] = (timeS, actions) => {
        for (const action of actions) lines.push(JSON.stringify({ timeS, ...action }))
      }
      const wanted = options.actions === undefined ? undefined : note
      const run = runSchedule(scenario, options.policy, options.mechanism, options, solver, wanted)
      const files: string[] = []
      if (options.actions !== undefined) {
        writeFileAtomically(options.actions, `${lines.join('\n')}\n`)
        files.push(options.actions)
      }
      if (options.jobsCsv !== undefined) {
        writeFileAtomically(options.jobsCsv, formatJobsCsv(run.jobs))
        files.push(options.jobsCsv)
      }
      if (options.plot !== undefined) files.push(...(await drawCharts(options.plot, [run])))
      const written = files.map((file) => `written: ${file}\n`).join('')
      terminal.stdout.write(
        options.json === true
          ? `${JSON.stringify(scheduleDocument(scenario, options, { summary: run.summary, files }), null, 2)}\n`
          : `${formatScheduleTable([run.summary])}\n${written}`,
      )
    })
}

function formatJobsCsv(jobs: readonly JobOutcome[]): string {
  const rows = jobs.map(({ job, finishS, completionS, attainedS }) =>
    [job.id, job.model, job.gpus, job.arrivalS, job.iterations, finishS, completionS, attainedS].join(),
  )
  return `${['id,model,gpus,arrival_s,iterations,finish_s,completion_s,attained_s', ...rows].join('\n')}\n`
}
