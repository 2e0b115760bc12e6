import type { ReportedRun, ReportedTask, ReportInput } from '@pctodl/report'
import { type Cell, loadStem } from './cell.js'
import type { Manifest } from './manifest.js'
import { type OracleCell, type OracleThroughput, oracleExplanation, oracleThroughput } from './oracle-throughput.js'
import { playgroundFragment } from './playground-address.js'
import type { ResultStore } from './result-store.js'
import { type BenchTask, capsWOf, isServed } from './tasks.js'

/** The results of a folder as what a report is made of. @throws InvalidInputError for a manifest that is none */
export function reportedResults(store: ResultStore, { withOracle }: { readonly withOracle: boolean }): ReportInput {
  const { manifests, failures } = store.readAll()
  // The oracle knows simulated boards only.
  const simulated = manifests.flatMap(({ cell: { task, ...cell } }) =>
    cell.real || isServed(task) ? [] : [{ task, ...cell }],
  )
  const best: OracleThroughput = withOracle ? oracleThroughput(distinct(simulated), store.folder) : new Map()
  return {
    runs: manifests.map(
      (manifest): ReportedRun => ({
        task: reportedTask(manifest.cell),
        summary: manifest.summary,
        repetition: manifest.cell.seed + 1000 * (manifest.cell.variant ?? 0),
        record: () => store.readRecord(manifest.cell),
        recordFile: store.recordFile(manifest.cell),
        madeBy: makerOf(manifest),
        ...inPlayground(manifest),
      }),
    ),
    failures: failures.map(({ cell: { task, algorithm }, message }) => ({ task, algorithm, message })),
    oracle: { throughput: (task) => oracleOf(best, task), explanation: oracleExplanation },
  }
}

function reportedTask(cell: Cell): ReportedTask {
  const { task } = cell
  const { board, id } = task
  const what = isServed(task) ? { model: task.name, dataset: 'requests' } : { model: task.model, dataset: task.dataset }
  return { board, id, ...what, capsW: capsWOf(task), stem: `${board}_${loadStem(cell)}` }
}

/** By what a task is, not by which object it is: each manifest has read its own. */
function oracleOf(best: OracleThroughput, { board, id }: ReportedTask): number | null {
  for (const [task, throughput] of best) if (task.board === board && task.id === id) return throughput
  return null
}

/** Each board and task once, whichever algorithms ran there, with one object for each task. */
function distinct(cells: readonly OracleCell[]): OracleCell[] {
  const tasks = new Map<string, BenchTask>()
  const boards = new Map<string, OracleCell>()
  for (const { task, seed, variant } of cells) {
    const ofTask = `${task.board} ${task.id}`
    if (!tasks.has(ofTask)) tasks.set(ofTask, task)
    boards.set(`${ofTask} ${seed} ${variant}`, {
      task: tasks.get(ofTask)!,
      seed,
      ...(variant === undefined ? {} : { variant }),
    })
  }
  return [...boards.values()]
}

function inPlayground({ cell }: Manifest): Pick<ReportedRun, 'playgroundFragment'> {
  const fragment = playgroundFragment(cell)
  return fragment === undefined ? {} : { playgroundFragment: fragment }
}

function makerOf({ madeBy, board, cell }: Manifest): string {
  const where = cell.real
    ? `${board.name} (${board.uuid}, driver ${board.driverVersion}; ${board.tenants})`
    : `the simulated ${board.name}`
  return `bench-runner ${madeBy.benchRunner} on ${where}, predictor parameters ${madeBy.predictorParameters.slice(0, 12)}`
}
