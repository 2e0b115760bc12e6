import path from 'node:path'
import { type CommandFunction, UsageError, writeFileAtomically } from '@pctodl/command-line'
import {
  aggregateByAlgorithm,
  baselineOf,
  combineRepeatedRuns,
  formatAggregateTable,
  formatStandings,
  formatTaskTable,
  standings,
  type TableStyle,
  tableStyle,
} from '@pctodl/report'
import { boardName } from './board-name.js'
import { type Cell, cellLabel, cellStem, cellsOf } from './cell.js'
import { compareResults } from './compare-results.js'
import { printDetectedGpus } from './detect-gpu.js'
import { drawRunCharts } from './draw-run-charts.js'
import { executeJob } from './execute-job.js'
import { assertCapsFeasible } from './feasibility.js'
import { type BenchOptions, checkOptions, parseRawOptions } from './matrix-options.js'
import { reportResults } from './report-results.js'
import { type MatrixOutcome, runMatrix } from './run-matrix.js'
import { serverScenario } from './server/server-scenario.js'
import { settleAlgorithm } from './settle-algorithm.js'
import { settlePlace } from './settle-place.js'

/** More tasks than this are summed up in one table. */
const MOST_TASK_TABLES = 4

const subcommands: Readonly<Record<string, CommandFunction>> = {
  report: reportResults,
  compare: compareResults,
  execute: executeJob,
}

/** The command line `bench-runner` as a function. */
export const benchRunner: CommandFunction = async (argv, terminal) => {
  const subcommand = argv[0] === undefined ? undefined : subcommands[argv[0]]
  if (subcommand) return subcommand(argv.slice(1), terminal)
  const raw = await parseRawOptions(argv, terminal)
  if (raw.detectGpu) return printDetectedGpus(raw, terminal)
  if (raw.scenario === 'server') return serverScenario(raw, terminal)
  for (const [given, option] of [
    [raw.mostLoad, '--most-load'],
    [raw.loadFactor, '--load-factor'],
  ] as const) {
    if (given !== undefined) throw new UsageError(`${option} is of services; say --scenario server with it`)
  }
  const place = await settlePlace(raw)
  const options = checkOptions(raw, await settleAlgorithm(raw, terminal), place)
  if (place.note !== undefined) terminal.stderr.write(`${place.note}\n`)
  const cells = cellsOf(options)
  if (options.dryRun) {
    terminal.stdout.write(
      options.json ? `${JSON.stringify(cells.map(plannedRun(options)), null, 2)}\n` : plan(cells, options),
    )
    return 0
  }
  assertCapsFeasible(options.tasks, options.parametersFolder)
  const outcome = await runMatrix(cells, options, terminal)
  const files = outcome.finished.map(({ cell }) => path.join(options.resultDir, `${cellStem(cell)}.csv`))
  if (options.chart) files.push(...(await drawRunCharts(outcome, options.resultDir)))
  const summaries = outcome.finished.map(({ summary }) => summary)
  const failures = outcome.failures.map(({ cell, message }) => ({
    taskId: cell.task.id,
    algorithm: cell.algorithm,
    seed: cell.seed,
    message,
  }))
  const json = (files: readonly string[]) => `${JSON.stringify({ summaries, failures, files }, null, 2)}\n`
  const table = (style: TableStyle) => closingTable(options, outcome, style)
  if (options.saveSummary) {
    // It lies in the folder and travels with it, so it names files from there.
    const inFolder = files.map((file) => path.relative(options.resultDir, file))
    for (const [extension, content] of [['txt', `${table('plain')}\n`] as const, ['json', json(inFolder)] as const]) {
      const file = path.join(options.resultDir, `summary.${extension}`)
      writeFileAtomically(file, content)
      files.push(file)
    }
  }
  if (options.json) terminal.stdout.write(json(files))
  else terminal.stdout.write(`${table(tableStyle(terminal.stdout, terminal.env))}\n\n${written(options, files)}\n`)
  return failures.length > 0 ? 1 : 0
}

function closingTable(options: BenchOptions, { finished, failures }: MatrixOutcome, style: TableStyle): string {
  const parts: string[] = []
  const runs = finished.map(({ summary }) => summary)
  // One task's own table says it already.
  const headline = options.tasks.length > 1 ? standings(runs) : undefined
  if (headline) parts.push(formatStandings(headline, style))
  const summaries = combineRepeatedRuns(runs)
  if (options.tasks.length <= MOST_TASK_TABLES) {
    for (const task of options.tasks) {
      const ofTask = summaries.filter(({ taskId, board }) => taskId === task.id && board === task.board)
      if (ofTask.length > 0) parts.push(formatTaskTable(ofTask, style))
    }
  } else if (summaries.length > 0) {
    const baseline = baselineOf(summaries)
    for (const board of new Set(summaries.map((summary) => summary.board))) {
      const ofBoard = summaries.filter((summary) => summary.board === board)
      parts.push(`${board}\n${formatAggregateTable(aggregateByAlgorithm(ofBoard, baseline), baseline, style)}`)
    }
  }
  for (const { cell, message } of failures) parts.push(`FAILED ${cellLabel(cell)}: ${message}`)
  return parts.join('\n\n')
}

function written({ tasks, resultDir }: BenchOptions, files: readonly string[]): string {
  const shown = tasks.length > MOST_TASK_TABLES ? [`${files.length} files in ${resultDir}`] : files
  return `Written:\n${shown.map((file) => `  ${file}`).join('\n')}`
}

const plannedRun =
  ({ resultDir }: BenchOptions) =>
  (cell: Cell) => ({
    taskId: cell.task.id,
    board: cell.task.board,
    model: cell.task.model,
    dataset: cell.task.dataset,
    caps: cell.task.schedule ? cell.task.schedule.capsW : [cell.task.powerCapW],
    algorithm: cell.algorithm,
    seed: cell.seed,
    ...(cell.variant === undefined ? {} : { variant: boardName(cell) }),
    iterations: cell.iterations,
    file: path.join(resultDir, `${cellStem(cell)}.csv`),
  })

function plan(cells: readonly Cell[], options: BenchOptions): string {
  const lines = cells
    .map(plannedRun(options))
    .map(
      ({ taskId, board, model, dataset, caps, algorithm, seed, iterations, variant, file }) =>
        `task ${taskId}: ${algorithm} on ${board}, ${model}/${dataset}, ${caps.join(' -> ')} W, ` +
        `${iterations} iterations${options.seeds.length > 1 ? `, seed ${seed}` : ''}${variant === undefined ? '' : `, on ${variant}`} -> ${file}`,
    )
  return `${lines.join('\n')}\n`
}
