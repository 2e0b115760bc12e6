import { rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Progress, type Terminal } from '@pctodl/command-line'
import { type Job, LocalExecutor, SlurmExecutor, silenceLine } from '@pctodl/job-array'
import { type Cell, cellLabel } from './cell.js'
import { cellsTakenBy, executeCells, writePlan } from './execute-cells.js'
import type { Manifest } from './manifest.js'
import type { BenchOptions } from './matrix-options.js'
import { type FailedCell, ResultStore } from './result-store.js'

export interface MatrixOutcome {
  readonly finished: readonly Manifest[]
  readonly failures: readonly FailedCell[]
}

/** Runs cells in this process, in several processes or on a cluster, and gathers the results from the store. */
export async function runMatrix(
  cells: readonly Cell[],
  options: BenchOptions,
  terminal: Terminal,
): Promise<MatrixOutcome> {
  const { resultDir, resume, timeout, jobs, executor } = options
  const store = new ResultStore(resultDir)
  store.removeUnfinished()
  if (!resume) for (const cell of cells) store.clear(cell)
  const progress = new Progress(terminal.stderr, cells.length)
  const outcomes = new Map<Cell, Manifest | FailedCell>()
  const end = (cell: Cell, outcome: Manifest | FailedCell, kept = '') => {
    outcomes.set(cell, outcome)
    progress.end(cellLabel(cell), `${describe(outcome)}${kept}`)
  }
  /** Takes the outcome of a cell from the store, unless it is known already. Returns whether there is one. */
  const gather = (cell: Cell): boolean => {
    const outcome = outcomes.has(cell) ? undefined : store.outcome(cell)
    if (outcome) end(cell, outcome)
    return outcomes.has(cell)
  }
  for (const cell of cells) {
    const earlier = store.finished(cell)
    if ('manifest' in earlier) end(cell, earlier.manifest, ' (kept)')
  }
  const left = cells.filter((cell) => !outcomes.has(cell))
  if (left.length > 0 && (executor === 'slurm' || (jobs > 1 && left.length > 1))) {
    await runInProcesses(left, options, store, terminal, gather)
  } else {
    await executeCells(left, store, {
      timeout,
      signal: terminal.signal,
      onBegin: (cell, redoBecause) => progress.begin(resume ? `${cellLabel(cell)} (${redoBecause})` : cellLabel(cell)),
      onEnd: gather,
    })
  }
  const all = cells.map((cell) => outcomes.get(cell) ?? { cell, message: 'did not run' })
  return {
    finished: all.filter((outcome) => 'summary' in outcome),
    failures: all.filter((outcome) => 'message' in outcome),
  }
}

function describe(outcome: Manifest | FailedCell): string {
  if ('message' in outcome) return `failed: ${outcome.message}`
  const { throughput, verdict, requests, meanPowerW } = outcome.summary
  const rate = requests
    ? `${throughput.toFixed(0)} requests/s in time, ${meanPowerW?.toFixed(0)} W`
    : `${throughput.toFixed(0)} samples/s`
  const load = requests?.maxLoad === undefined ? '' : `${requests.maxLoad.toFixed(2)} times the load, `
  return `${load}${rate}, ${verdict.breaks === 'latency' ? 'misses its latency' : `${verdict.status} the cap`}`
}

/**
 * Runs cells in processes that share a plan, and calls `gather` once the store has the outcome of a cell. A cell fails
 * if its process ends before its result is stored.
 */
async function runInProcesses(
  cells: readonly Cell[],
  { resultDir, jobs, timeout, executor: kind, slurmElements, slurmArgument = [] }: BenchOptions,
  store: ResultStore,
  { signal, stderr }: Terminal,
  gather: (cell: Cell) => boolean,
): Promise<void> {
  /** Plan, scripts and logs of this run. */
  const workDir = path.resolve(resultDir, '.execution')
  const planFile = path.join(workDir, 'plan.json')
  const remove = () => rmSync(workDir, { recursive: true, force: true, maxRetries: 5 })
  const isSlurm = kind === 'slurm'
  const executor = isSlurm
    ? new SlurmExecutor({
        workDir,
        name: 'bench-runner',
        sbatchArguments: slurmArgument,
        onSilence: (silence) => stderr.write(silenceLine(silence)),
      })
    : new LocalExecutor({ concurrency: jobs })
  const workers = Math.min(cells.length, isSlurm ? slurmElements : jobs)
  const lastWords = new Map<string, string>()
  const left = () => cellsTakenBy(undefined, planFile, cells)
  let lastEnding = 'did not run'
  const fail = (cell: Cell) => {
    store.writeFailure(cell, lastEnding)
    gather(cell)
  }
  const run = (round: number) => {
    const jobs = Array.from({ length: workers }, (_, i): Job => {
      const id = `${round}.${i + 1}`
      return { id, command: [...thisProgram(), 'execute', '--plan', planFile, '--worker', id] }
    })
    return executor.run(jobs, {
      signal,
      onLine: (id, line, stream) => {
        if (stream === 'stderr') lastWords.set(id, line)
        else gather(cells[Number(line)]!)
      },
      onOutcome: ({ id, exitCode, reason }) => {
        const why = lastWords.get(id) ?? reason
        const code = exitCode === null ? '' : ` with code ${exitCode}`
        if (exitCode !== 0) lastEnding = `its process ended${code}${why === undefined ? '' : `: ${why}`}`
        // The lines of a cluster's node are not visible here, but its files are.
        for (const cell of cellsTakenBy(id, planFile, cells)) if (!gather(cell) && exitCode !== 0) fail(cell)
      },
    })
  }
  remove()
  try {
    writePlan(planFile, { resultDir: path.resolve(resultDir), timeout, cells })
    // Crashed workers are started again until a round takes no cell. Slurm's executor restarts its own.
    for (let round = 1, before = Number.POSITIVE_INFINITY; left().length > 0 && left().length < before; round++) {
      before = isSlurm ? 0 : left().length
      await run(round)
    }
    for (const cell of left()) fail(cell)
  } finally {
    remove()
  }
}

/**
 * Command line that runs this program as another process. The built command has the same path relative to `src` and
 * `dist`.
 */
function thisProgram(): readonly [string, string] {
  return [process.execPath, fileURLToPath(new URL('../bin/bench-runner.js', import.meta.url))]
}
