import path from 'node:path'
import { renderPng, renderSvg } from '@pctodl/charts'
import { type CommandFunction, Progress, type Terminal, writeFileAtomically } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { assertCapsFeasible } from './feasibility.js'
import { type BenchOptions, parseOptions } from './options.js'
import {
  aggregateByAlgorithm,
  comparisonChart,
  formatAggregateTable,
  formatResultsCsv,
  formatTaskTable,
  matrixChart,
  type RunSummary,
  summarizeRun,
  tableStyle,
} from './report/index.js'
import type { RunRecord } from './run-record.js'
import { runTask } from './run-task.js'
import { type BenchTask, taskFileStem } from './tasks.js'

interface Failure {
  readonly taskId: number
  readonly algorithm: string
  readonly message: string
}

/** The algorithm that the others are compared with in the closing table. */
const BASELINE = 'powercap'

/** The command line `bench-runner` as a function. */
export const benchRunner: CommandFunction = async (argv, terminal) => {
  const options = await parseOptions(argv, terminal)
  if (options.dryRun) {
    terminal.stdout.write(options.json ? `${JSON.stringify(plannedRuns(options), null, 2)}\n` : formatPlan(options))
    return 0
  }
  assertCapsFeasible(options.tasks)
  return runMatrix(options, terminal)
}

async function runMatrix(options: BenchOptions, terminal: Terminal): Promise<number> {
  const { stdout, stderr, signal } = terminal
  const progress = new Progress(stderr, options.tasks.length * options.algorithms.length)
  const summaries: RunSummary[] = []
  const failures: Failure[] = []
  const files: string[] = []
  for (const task of options.tasks) {
    const records: RunRecord[] = []
    for (const name of options.algorithms) {
      const label = `task ${task.id} ${task.model}/${task.dataset} on ${task.board}, ${name}`
      progress.begin(label)
      try {
        const record = await runTask(task, name, { iterations: options.iterations, seed: options.seed, signal })
        const file = resultFile(options, task, name)
        writeFileAtomically(file, formatResultsCsv(record.windows))
        files.push(file)
        records.push(record)
        const summary = summarizeRun(record)
        summaries.push(summary)
        progress.end(label, `${summary.throughput.toFixed(0)} samples/s, ${summary.verdict.status} the cap`)
      } catch (error) {
        if (signal.aborted || !(error instanceof PctodlError)) throw error
        failures.push({ taskId: task.id, algorithm: name, message: error.message })
        progress.end(label, `failed: ${error.message}`)
      }
    }
    if (options.chart && records.length > 0) {
      files.push(...(await drawChart(chartStem(options, task, taskFileStem(task)), comparisonChart(records))))
    }
  }
  if (options.chart && options.tasks.length > 1 && summaries.length > 0) {
    files.push(...(await drawChart(chartStem(options, options.tasks[0]!, 'matrix'), matrixChart(summaries))))
  }
  if (options.json) stdout.write(`${JSON.stringify({ summaries, failures, files }, null, 2)}\n`)
  else stdout.write(formatReport(options, summaries, failures, files, terminal))
  return failures.length > 0 ? 1 : 0
}

function formatReport(
  options: BenchOptions,
  summaries: readonly RunSummary[],
  failures: readonly Failure[],
  files: readonly string[],
  { stdout, env }: Terminal,
): string {
  const style = tableStyle(stdout, env)
  const parts: string[] = []
  const many = options.tasks.length > 4
  if (!many) {
    for (const task of options.tasks) {
      const ofTask = summaries.filter((summary) => summary.taskId === task.id)
      if (ofTask.length > 0) parts.push(formatTaskTable(ofTask, style))
    }
  } else if (summaries.length > 0) {
    const baseline = options.algorithms.includes(BASELINE) ? BASELINE : options.algorithms[0]!
    parts.push(formatAggregateTable(aggregateByAlgorithm(summaries, baseline), baseline, style))
  }
  for (const { taskId, algorithm, message } of failures) parts.push(`FAILED task ${taskId}, ${algorithm}: ${message}`)
  const shown = many ? [`${files.length} files in ${options.resultDir}`] : files
  parts.push(`Written:\n${shown.map((file) => `  ${file}`).join('\n')}`)
  return `${parts.join('\n\n')}\n`
}

async function drawChart(stem: string, spec: Parameters<typeof renderSvg>[0]): Promise<string[]> {
  const svg = await renderSvg(spec)
  writeFileAtomically(`${stem}.svg`, svg)
  writeFileAtomically(`${stem}.png`, await renderPng(svg))
  return [`${stem}.svg`, `${stem}.png`]
}

function resultFile({ resultDir }: BenchOptions, task: BenchTask, algorithm: string): string {
  return path.join(resultDir, `${task.board}_${algorithm}`, `${taskFileStem(task)}.csv`)
}

function chartStem({ resultDir }: BenchOptions, task: BenchTask, name: string): string {
  return path.join(resultDir, `${task.board}_comparison`, name)
}

function plannedRuns(options: BenchOptions) {
  return options.tasks.flatMap((task) =>
    options.algorithms.map((algorithm) => ({
      taskId: task.id,
      board: task.board,
      model: task.model,
      dataset: task.dataset,
      caps: task.schedule ? task.schedule.capsW : [task.powerCapW],
      algorithm,
      iterations: task.fixedIterations ?? options.iterations,
      file: resultFile(options, task, algorithm),
    })),
  )
}

function formatPlan(options: BenchOptions): string {
  const lines = plannedRuns(options).map(
    ({ taskId, board, model, dataset, caps, algorithm, iterations, file }) =>
      `task ${taskId}: ${algorithm} on ${board}, ${model}/${dataset}, ${caps.join(' -> ')} W, ${iterations} iterations -> ${file}`,
  )
  return `${lines.join('\n')}\n`
}
