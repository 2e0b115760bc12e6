import { rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Progress, type Terminal } from '@pctodl/command-line'
import { type Job, LocalExecutor, SlurmExecutor, type SlurmSilence, silenceLine } from '@pctodl/job-array'
import { type Cell, cellLabel } from './cell.js'
import { type CellEnding, cellsTakenBy, EXECUTION_FOLDER, executeCells, writePlan } from './execute-cells.js'
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
  // This process decides once which results are kept. A worker also keeps an existing result, so that it can be
  // restarted.
  store.removeUnfinished()
  if (!resume) for (const cell of cells) store.clear(cell)
  const progress = new Progress(terminal.stderr, cells.length)
  const onEnd = (label: string, ending: CellEnding) => progress.end(label, describe(ending))
  if (slurm || (jobs > 1 && cells.length > 1)) {
    const planFolder = path.join(resultDir, EXECUTION_FOLDER)
    const remove = () => rmSync(planFolder, { recursive: true, force: true, maxRetries: 5 })
    remove()
    try {
      await runInProcesses(cells, options, store, terminal, onEnd)
    } finally {
      remove()
    }
  } else {
    await executeCells(cells, store, {
      timeout,
      signal: terminal.signal,
      onBegin: (cell, redoBecause) => progress.begin(resume ? `${cellLabel(cell)} (${redoBecause})` : cellLabel(cell)),
      onEnd: (cell, ending) => onEnd(cellLabel(cell), ending),
    })
  }
  const results = cells.map((cell) => ({ cell, result: store.finished(cell) }))
  return {
    finished: results.flatMap(({ result }) => ('manifest' in result ? [result.manifest] : [])),
    failures: results.flatMap(({ cell, result }) =>
      'manifest' in result ? [] : [store.failure(cell) ?? { cell, message: 'did not run' }],
    ),
  }
}

function describe(ending: CellEnding): string {
  if (ending.kind === 'failed') return `failed: ${ending.message}`
  const { throughput, verdict, requests, meanPowerW } = ending.summary
  const rate = requests
    ? `${throughput.toFixed(0)} requests/s in time, ${meanPowerW?.toFixed(0)} W`
    : `${throughput.toFixed(0)} samples/s`
  const load = requests?.maxLoad === undefined ? '' : `${requests.maxLoad.toFixed(2)} times the load, `
  const kept = verdict.breaks === 'latency' ? 'misses its latency' : `${verdict.status} the cap`
  return `${load}${rate}, ${kept}${ending.kind === 'kept' ? ' (kept)' : ''}`
}

async function runInProcesses(
  cells: readonly Cell[],
  options: BenchOptions,
  store: ResultStore,
  terminal: Terminal,
  onEnd: (label: string, ending: CellEnding) => void,
): Promise<void> {
  const { timeout, slurm } = options
  const planFile = writePlan({ resultDir: path.resolve(options.resultDir), timeout, cells })
  const lastWords = new Map<string, string>()
  const fail = (cell: Cell, message: string) => {
    store.writeFailure(cell, message)
    onEnd(cellLabel(cell), { kind: 'failed', message })
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
        else {
          const { label, ending } = JSON.parse(line) as { label: string; ending: CellEnding }
          onEnd(label, ending)
        }
      },
      onOutcome: ({ id, exitCode, reason }) => {
        const why = lastWords.get(id) ?? reason
        const ended = `its process ended${exitCode === null ? '' : ` with code ${exitCode}`}${why === undefined ? '' : `: ${why}`}`
        if (exitCode !== 0) lastEnding = ended
        for (const cell of cellsTakenBy(id, planFile, cells)) {
          const result = store.finished(cell)
          const failure = store.failure(cell)
          if ('redoBecause' in result && !failure && exitCode !== 0) fail(cell, ended)
          else if (slurm) {
            // The output of a node is not visible here, so progress comes from the files that it wrote.
            if ('manifest' in result) onEnd(cellLabel(cell), { kind: 'done', summary: result.manifest.summary })
            else if (failure) onEnd(cellLabel(cell), { kind: 'failed', message: failure.message })
          }
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
