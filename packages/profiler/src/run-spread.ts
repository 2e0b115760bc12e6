import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Terminal, writeFileAtomically } from '@pctodl/command-line'
import { type JobExecutor, LocalExecutor, SlurmExecutor, type SlurmSilence, silenceLine } from '@pctodl/job-array'
import { PctodlError } from '@pctodl/platform'
import type { ProfileRow } from './measure/profile-row.js'
import type { ProfilePlan } from './plan/profile-plan.js'
import type { ProfileOptions, SpreadOptions } from './profile-options.js'
import type { Manifest } from './trace/manifest.js'
import { readManifest } from './trace/manifest.js'
import { readTrace, traceFiles } from './trace/trace-store.js'

/** What the pieces measured, with the places of their rows in the whole plan. */
export interface SpreadRun {
  readonly rows: readonly ProfileRow[]
  /** The boards that took part: on a cluster every piece may have had another one. */
  readonly boards: readonly Manifest['board'][]
}

/**
 * Cut a plan into pieces of consecutive rows, measure each in a process of its own, here or on a Slurm cluster, and gather the rows.
 * The pieces lie beside the trace until all of them are whole: a run that was cut short, or of which a piece failed, goes on
 * where it stopped when it is started again with `--resume`.
 *
 * @throws PctodlError `PIECES_FAILED` naming the pieces that are not whole and why
 */
export async function runSpread(
  options: ProfileOptions & { readonly spread: SpreadOptions },
  plan: ProfilePlan,
  out: string,
  terminal: Terminal,
): Promise<SpreadRun> {
  const folder = path.resolve(`${out}.pieces`)
  if (!options.resume) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  mkdirSync(folder, { recursive: true })
  const pieces = cutPlan(plan, options.spread.pieces).map((piece, i) => ({
    ...piece,
    planFile: path.join(folder, `${i}.plan.json`),
    out: path.join(folder, `${i}.csv`),
  }))
  for (const { plan: part, planFile } of pieces) writeFileAtomically(planFile, `${JSON.stringify(part)}\n`)
  const lastWords = new Map<string, string>()
  const outcomes = await executorOf(options.spread, folder, terminal).run(
    pieces.map(({ planFile, out: pieceOut }, i) => ({
      id: String(i),
      command: commandOf(options, planFile, pieceOut),
    })),
    {
      signal: terminal.signal,
      onLine: (id, line, stream) => {
        if (stream === 'stderr' && line.trim() !== '') lastWords.set(id, line.trim())
      },
      onOutcome: ({ id, exitCode }) =>
        terminal.stderr.write(
          `piece ${Number(id) + 1} of ${pieces.length} ${exitCode === 0 ? 'measured' : 'failed'}\n`,
        ),
    },
  )
  const failed = outcomes.filter(({ exitCode }) => exitCode !== 0)
  if (failed.length > 0) {
    const reasons = failed.map(
      ({ id, reason }) => `${Number(id) + 1}: ${lastWords.get(id) ?? reason ?? 'no reason given'}`,
    )
    throw new PctodlError(
      'PIECES_FAILED',
      `${failed.length} of ${pieces.length} pieces are not whole (${reasons.join('; ')}); what was measured is kept, go on with --resume`,
    )
  }
  const rows = pieces.flatMap(({ out: pieceOut, offset }) =>
    readTrace(pieceOut).map((row) => ({ ...row, row: row.row + offset })),
  )
  const boards = pieces.map(({ out: pieceOut }) => readManifest(traceFiles(pieceOut).manifest)!.board)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  return { rows, boards: boards.filter(({ uuid }, i) => boards.findIndex((board) => board.uuid === uuid) === i) }
}

/** Pieces of consecutive rows, as even as can be. */
export function cutPlan(plan: ProfilePlan, pieces: number): { readonly plan: ProfilePlan; readonly offset: number }[] {
  const count = Math.min(pieces, plan.rows.length)
  return Array.from({ length: count }, (_, i) => {
    const offset = Math.floor((i * plan.rows.length) / count)
    const end = Math.floor(((i + 1) * plan.rows.length) / count)
    return { plan: { ...plan, rows: plan.rows.slice(offset, end) }, offset }
  })
}

function executorOf({ pieces, slurm }: SpreadOptions, workDir: string, { stderr }: Terminal): JobExecutor {
  if (!slurm) return new LocalExecutor({ concurrency: pieces })
  const { elements: _, ...site } = slurm
  const onSilence = (silence: SlurmSilence) => stderr.write(silenceLine(silence))
  return new SlurmExecutor({ ...site, workDir, name: 'pctodl-profile', onSilence })
}

/** `pctodl profile` as a program of this package; from `src` it is the built one. */
function commandOf(options: ProfileOptions, planFile: string, out: string): readonly [string, ...string[]] {
  const here = typeof __filename === 'string' ? path.dirname(__filename) : path.dirname(fileURLToPath(import.meta.url))
  return [
    process.execPath,
    path.resolve(here, '../dist/measure-piece.js'),
    ...['--backend', options.backend, '--gpu', options.gpu, '--seed', String(options.seed)],
    ...(options.worker === undefined ? [] : ['--worker', options.worker]),
    ...(options.dataset === undefined ? [] : ['--dataset', path.resolve(options.dataset)]),
    ...(options.leaveClocksAlone ? ['--no-sudo'] : []),
    ...(options.mps ? [] : ['--no-mps']),
    ...['--plan', planFile, '--out', out, '--resume'],
  ]
}
