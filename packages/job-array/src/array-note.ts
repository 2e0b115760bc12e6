import { createHash, randomBytes } from 'node:crypto'
import { InvalidInputError } from '@pctodl/platform'
import type { Job, JobOutcome } from './job-array.js'
import { readNote, writeNote } from './work-folder.js'

/** An array as it is about to be handed over, noted where a later call of the same jobs finds it: this one may not hear whether Slurm took it. */
export interface ArrayNote {
  /** Tells its jobs from others. */
  readonly work: string
  /** By it the queue is searched. */
  readonly mark: string
  /** How often these elements will have been submitted. */
  readonly attempt: number
  /** Of the elements among the jobs, ascending. */
  readonly indices: readonly number[]
  /** What became of the other jobs. */
  readonly outcomes: readonly JobOutcome[]
}

export function newArray(jobs: readonly Job[], of: Pick<ArrayNote, 'attempt' | 'indices' | 'outcomes'>): ArrayNote {
  return { work: workOf(jobs), mark: `pctodl-${randomBytes(8).toString('hex')}`, ...of }
}

/** Jobs with the same ids and commands are the same work. */
export function workOf(jobs: readonly Job[]): string {
  return createHash('sha256')
    .update(JSON.stringify(jobs.map(({ id, command }) => [id, command])))
    .digest('hex')
}

export function writeArrayNote(file: string, note: ArrayNote): void {
  writeNote(file, `${JSON.stringify(note)}\n`)
}

/**
 * @returns undefined where there is none
 * @throws InvalidInputError for what is no such note: an array may run of which nobody knows
 */
export function readArrayNote(file: string): ArrayNote | undefined {
  const text = readNote(file)
  if (text === undefined) return undefined
  const note = parsed(text)
  const isNote =
    typeof note?.work === 'string' &&
    /^pctodl-[0-9a-f]{16}$/.test(note.mark ?? '') &&
    Number.isInteger(note.attempt) &&
    Array.isArray(note.indices) &&
    Array.isArray(note.outcomes)
  if (isNote) return note as ArrayNote
  throw new InvalidInputError(
    file,
    text.length > 80 ? `${text.length} characters` : text,
    'what was noted of an array; if squeue shows none of this folder, remove the file',
  )
}

function parsed(text: string): Partial<ArrayNote> | null {
  try {
    return JSON.parse(text) as Partial<ArrayNote> | null
  } catch {
    return null
  }
}
