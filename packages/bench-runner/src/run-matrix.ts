import { rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Progress, type Terminal } from '@pctodl/command-line'
import { type Job, LocalExecutor, SlurmExecutor, type SlurmSilence, silenceLine } from '@pctodl/job-array'
import { type Cell, cellLabel } from './cell.js'
import { cellsTakenBy, EXECUTION_FOLDER, executeCells, writePlan } from './execute-cells.js'
import type { Manifest } from './manifest.js'
import type { BenchOptions } from './matrix-options.js'
import { type FailedCell, ResultStore } from './result-store.js'

export interface MatrixOutcome {
  readonly finished: readonly Manifest[]
  readonly failures: readonly FailedCell[]
}

/** Run cells in this process, in several processes or on a cluster, and gather the results from the store. */
export async function runMatrix(
  cells: readonly Cell[],
  options: BenchOptions,
  terminal: Terminal,
): Promise<MatrixOutcome> {
  const { resultDir, resume, timeout, jobs, slurm } = options
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
  const left = cells.filter((cell) => {
    const earlier = store.finished(cell)
    if ('manifest' in earlier) end(cell, earlier.manifest, ' (kept)')
    return !outcomes.has(cell)
  })
  if (left.length > 0 && (slurm || (jobs > 1 && left.length > 1))) {
    const planFolder = path.join(resultDir, EXECUTION_FOLDER)
    const remove = () => rmSync(planFolder, { recursive: true, force: true, maxRetries: 5 })
    remove()
    try {
      await runInProcesses(left, options, store, terminal, gather)
    } finally {
      remove()
    }
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
  const kept = verdict.breaks === 'latency' ? 'misses its latency' : `${verdict.status} the cap`
  return `${load}${rate}, ${kept}`
}

async function runInProcesses(
  cells: readonly Cell[],
  options: BenchOptions,
  store: ResultStore,
  terminal: Terminal,
  gather: (cell: Cell) => boolean,
): Promise<void> {
  const { timeout, slurm } = options
  const planFile = writePlan({ resultDir: path.resolve(options.resultDir), timeout, cells })
  const lastWords = new Map<string, string>()
  const fail = (cell: Cell, message: string) => {
    store.writeFailure(cell, message)
    gather(cell)
  }
  const left = () => cellsTakenBy(undefined, planFile, cells)
  let lastEnding = 'did not run'
  const onSilence = (silence: SlurmSilence) => terminal.stderr.write(silenceLine(silence))
  const site = { workDir: path.dirname(planFile), name: 'bench-runner', onSilence }
  const executor = slurm
    ? new SlurmExecutor({ ...site, sbatchArguments: slurm.sbatchArguments })
    : new LocalExecutor({ concurrency: options.jobs })
  const workers = Math.min(cells.length, slurm ? slurm.elements : options.jobs)
  const run = (round: number) => {
    const jobs = Array.from({ length: workers }, (_, i): Job => {
      const id = `${round}.${i + 1}`
      return { id, command: [...thisProgram(), 'execute', '--plan', planFile, '--worker', id] }
    })
    return executor.run(jobs, {
      signal: terminal.signal,
      onLine: (id, line, stream) => {
        if (stream === 'stderr') lastWords.set(id, line)
        else gather(cells[Number(line)]!)
      },
      onOutcome: ({ id, exitCode, reason }) => {
        const why = lastWords.get(id) ?? reason
        const ended = `its process ended${exitCode === null ? '' : ` with code ${exitCode}`}${why === undefined ? '' : `: ${why}`}`
        if (exitCode !== 0) lastEnding = ended
        // What a node of a cluster prints is not visible here, but the files that it wrote are.
        for (const cell of cellsTakenBy(id, planFile, cells)) {
          if (!gather(cell) && exitCode !== 0) fail(cell, ended)
        }
      },
    })
  }
  // Crashed workers are started again until a round takes no cell. Slurm's executor restarts its own.
  let before: number
  let round = 0
  do {
    before = left().length
    await run(++round)
  } while (!slurm && left().length > 0 && left().length < before)
  for (const cell of left()) fail(cell, lastEnding)
}

/**
 * Command line that runs this program as another process. The built command has the same path relative to `src` and
 * `dist`.
 */
function thisProgram(): readonly [string, string] {
  const here = typeof __filename === 'string' ? path.dirname(__filename) : path.dirname(fileURLToPath(import.meta.url))
  return [process.execPath, path.resolve(here, '../bin/bench-runner.js')]
}
