import path from 'node:path'
import { type CommandFunction, jsonText, UsageError, writeFileAtomically } from '@pctodl/command-line'
import { compareResults, reportContent, textReport, writeCharts } from '@pctodl/report'
import { algorithmGroups, knowsTask } from './algorithms.js'
import { type Cell, cellLabel, cellStem, cellsOf } from './cell.js'
import { assertCapsFeasible } from './demands.js'
import { executePlan } from './execute-cells.js'
import { type BenchOptions, checkOptions, parseRawOptions } from './matrix-options.js'
import { reportedRun, reportResults } from './report-results.js'
import { ResultStore } from './result-store.js'
import { runMatrix } from './run-matrix.js'
import { printDetectedGpus, settlePlace } from './settle-place.js'
import { boardName, capsWOf, contentOf } from './tasks.js'

const subcommands = new Map<string | undefined, CommandFunction>([
  ['report', reportResults],
  ['compare', compareResults],
  ['execute', executePlan],
])

/** The command line `bench-runner` as a function. */
export const benchRunner: CommandFunction = async (argv, terminal) => {
  const subcommand = subcommands.get(argv[0])
  if (subcommand) return subcommand(argv.slice(1), terminal)
  const raw = await parseRawOptions(argv, terminal)
  if (raw.detectGpu) return printDetectedGpus(raw, terminal)
  const place = settlePlace(raw)
  const options = checkOptions(raw, place.boards, place.isReal)
  if (place.note !== undefined) terminal.stderr.write(`${place.note}\n`)
  const cells = cellsOf(options)
  for (const name of raw.algorithm.split(',').map((part) => part.trim())) {
    if (name in algorithmGroups || cells.some((cell) => cell.algorithm === name)) continue
    const known = algorithmGroups.all.filter((each) => options.tasks.some((task) => knowsTask(each, task)))
    throw new UsageError(`--algorithm ${name}: runs none of these tasks; what does: ${known.join(', ')}`)
  }
  if (options.dryRun) {
    const planned = () => cells.map((cell) => plannedRun(cell, options))
    const lines = () => cells.map((cell) => planLine(cell, options))
    terminal.stdout.write(options.json ? jsonText(planned()) : lines().join(''))
    return 0
  }
  assertCapsFeasible(options.tasks, options.params)
  const outcome = await runMatrix(cells, options, terminal)
  const files = outcome.finished.map(({ cell }) => path.join(options.resultDir, `${cellStem(cell)}.csv`))
  const store = new ResultStore(options.resultDir)
  const content = reportContent({
    runs: outcome.finished.map((manifest) => reportedRun(manifest, store.recordFile(manifest.cell))),
  })
  if (options.chart) {
    files.push(...(await writeCharts(content, path.join(options.resultDir, 'charts'), terminal.signal)))
  }
  const summaries = outcome.finished.map(({ summary }) => summary)
  const failures = outcome.failures.map(({ cell: { task, algorithm, seed }, message }) => {
    return { taskId: task.id, algorithm, seed, message }
  })
  const json = (files: readonly string[]) => jsonText({ summaries, failures, files })
  const failed = outcome.failures.map(({ cell, message }) => `FAILED ${cellLabel(cell)}: ${message}`)
  const table = [textReport(content), ...failed].filter(Boolean).join('\n\n')
  if (options.saveSummary) {
    // The summary lies in the folder and moves with it, so its paths are relative to it.
    const inFolder = files.map((file) => path.relative(options.resultDir, file))
    for (const [extension, content] of [['txt', `${table}\n`] as const, ['json', json(inFolder)] as const]) {
      const file = path.join(options.resultDir, `summary.${extension}`)
      writeFileAtomically(file, content)
      files.push(file)
    }
  }
  if (options.json) terminal.stdout.write(json(files))
  else terminal.stdout.write(`${table}\n\nWritten: ${files.length} files in ${options.resultDir}\n`)
  return failures.length > 0 ? 1 : 0
}

/** A cell as `--dry-run --json` prints it. */
function plannedRun(cell: Cell, { resultDir }: BenchOptions) {
  const { task, algorithm, seed, variant, iterations } = cell
  return {
    taskId: task.id,
    board: task.board,
    ...contentOf(task),
    caps: capsWOf(task),
    algorithm,
    seed,
    ...(variant === undefined ? {} : { variant: boardName(cell) }),
    iterations,
    file: path.join(resultDir, `${cellStem(cell)}.csv`),
  }
}

function planLine(cell: Cell, options: BenchOptions): string {
  const { taskId, board, model, dataset, caps, algorithm, seed, iterations, variant, file } = plannedRun(cell, options)
  const seeded = options.seeds > 1 ? `, seed ${seed}` : ''
  const which = variant === undefined ? '' : `, on ${variant}`
  const run = `${model}/${dataset}, ${caps.join(' -> ')} W, ${iterations} iterations${seeded}${which}`
  return `task ${taskId}: ${algorithm} on ${board}, ${run} -> ${file}\n`
}
