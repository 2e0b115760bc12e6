import path from 'node:path'
import { asUsage, Progress, type Terminal, UsageError, writeFileAtomically } from '@pctodl/command-line'
import { modelOf } from '@pctodl/perf-model/node'
import { PctodlError } from '@pctodl/platform'
import type { RawBenchOptions } from '../matrix-options.js'
import { ResultStore } from '../result-store.js'
import { drawServerCharts } from './draw-server-charts.js'
import { executeServerCell } from './execute-server-cell.js'
import { type ServerCell, serverCellLabel } from './server-cell.js'
import { parseServerPolicies } from './server-policies.js'
import { ServerStore } from './server-store.js'
import { type FinishedServerCell, formatServerTables } from './server-table.js'
import { serverTasks, serverTasksOf } from './server-tasks.js'

/** `bench-runner --scenario server`: services on simulated boards, whose requests come whether or not earlier ones were answered. */
export async function serverScenario(raw: RawBenchOptions, terminal: Terminal): Promise<number> {
  const cells = asUsage(() => cellsOf(raw))
  // Parameters that cannot be read are told before anything is run, or said to be.
  for (const board of new Set(cells.map((cell) => cell.board))) modelOf(board, cells[0]!.parametersFolder)
  if (raw.dryRun) {
    const plan = raw.json ? JSON.stringify(cells, null, 2) : cells.map(serverCellLabel).join('\n')
    terminal.stdout.write(`${plan}\n`)
    return 0
  }
  asUsage(() => new ResultStore(raw.resultDir).removeUnfinished())
  const store = new ServerStore(raw.resultDir)
  const progress = new Progress(terminal.stderr, cells.length)
  const finished: FinishedServerCell[] = []
  const failures: { readonly cell: ServerCell; readonly message: string }[] = []
  for (const cell of cells) {
    terminal.signal.throwIfAborted()
    const label = serverCellLabel(cell)
    const kept = raw.resume ? store.finished(cell) : undefined
    if (kept) {
      finished.push({ cell, result: kept })
      progress.end(label, 'kept')
      continue
    }
    progress.begin(label)
    store.clear(cell)
    try {
      const result = await executeServerCell(cell, terminal.signal)
      store.write(cell, result)
      finished.push({ cell, result })
      progress.end(label, inWords(result))
    } catch (error) {
      terminal.signal.throwIfAborted()
      if (!(error instanceof PctodlError)) throw error
      failures.push({ cell, message: error.message })
      progress.end(label, `failed: ${error.message}`)
      if (raw.failFast) break
    }
  }
  const files = finished.map(({ cell }) => store.file(cell))
  if (raw.chart) files.push(...(await drawServerCharts(finished, raw.resultDir)))
  const table = [
    formatServerTables(finished),
    ...failures.map(({ cell, message }) => `FAILED ${serverCellLabel(cell)}: ${message}`),
  ].join('\n\n')
  const json = () => `${JSON.stringify({ results: finished.map(withoutTrace), failures, files }, null, 2)}\n`
  if (raw.saveSummary) {
    for (const [extension, content] of [['txt', `${table}\n`] as const, ['json', json()] as const]) {
      const file = path.join(raw.resultDir, `server-summary.${extension}`)
      writeFileAtomically(file, content)
      files.push(file)
    }
  }
  if (raw.json) terminal.stdout.write(json())
  else terminal.stdout.write(`${table}\n\n${files.length} files in ${raw.resultDir}\n`)
  return failures.length > 0 ? 1 : 0
}

/** @throws UsageError, UnknownNameError */
function cellsOf(raw: RawBenchOptions): ServerCell[] {
  if (raw.backend !== 'sim')
    throw new UsageError('--scenario server: requests come to simulated boards; leave --backend out')
  if (raw.executor === 'slurm') throw new UsageError('--scenario server runs in this process; leave --executor out')
  if (raw.mostLoad && raw.loadFactor !== undefined)
    throw new UsageError('--most-load finds the factor; leave --load-factor out')
  const known = [...new Set(serverTasks.map(({ board }) => board))]
  const asked = raw.gpu === undefined || raw.gpu === 'all' ? known : raw.gpu.split(',').map((name) => name.trim())
  const boards = [...new Set(asked)]
  const tasks = boards.flatMap((board) => serverTasksOf(board, raw.taskId))
  const policies = parseServerPolicies(raw.algorithm ?? 'all')
  const variants = raw.variants === undefined ? [undefined] : Array.from({ length: raw.variants }, (_, i) => i + 1)
  const seeds = Array.from({ length: raw.seeds }, (_, i) => raw.seed + i)
  return tasks.flatMap(({ board, id, name }) =>
    variants.flatMap((variant) =>
      seeds.flatMap((seed) =>
        policies.map((policy) => ({
          board,
          taskId: id,
          taskName: name,
          policy,
          seed,
          ...(variant === undefined ? {} : { variant }),
          mostLoad: raw.mostLoad ?? false,
          ...(raw.loadFactor === undefined || raw.loadFactor === 1 ? {} : { loadFactor: raw.loadFactor }),
          ...(raw.params === undefined ? {} : { parametersFolder: path.resolve(raw.params) }),
        })),
      ),
    ),
  )
}

function inWords({ run, mostLoad }: FinishedServerCell['result']): string {
  if (mostLoad !== undefined) return `${mostLoad.toFixed(2)} times the load`
  const { objectivesMet, capHolds, meanPowerW } = run!
  return `${objectivesMet ? 'all objectives met' : 'objectives missed'}, ${meanPowerW.toFixed(0)} W, ${capHolds ? 'holds' : 'violates'} the cap`
}

/** Second by second it is in the files. */
function withoutTrace({ cell, result: { run, mostLoad } }: FinishedServerCell) {
  if (!run) return { cell, mostLoad }
  const { trace: _, ...others } = run
  return { cell, ...others }
}
