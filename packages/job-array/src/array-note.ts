import { createHash, randomBytes } from 'node:crypto'
import { InvalidInputError } from '@pctodl/platform'
import type { Job, JobOutcome } from './job-array.js'
import { readNote, writeNote } from './work-folder.js'

/**
 * Written just before an array is submitted, so that a later call with the same jobs can find the array if this call
 * never sees Slurm's answer.
 */
export interface ArrayNote {
  /** Hash that identifies the jobs. */
  readonly work: string
  /** Mark to search the queue for. */
  readonly mark: string
  /** Submission count of these elements, this one included. */
  readonly attempt: number
  /** Indices of the elements among the jobs, ascending. */
  readonly indices: readonly number[]
  /** Outcomes of the other jobs. */
  readonly outcomes: readonly JobOutcome[]
}

export function newArray(jobs: readonly Job[], of: Pick<ArrayNote, 'attempt' | 'indices' | 'outcomes'>): ArrayNote {
  return { work: workOf(jobs), mark: `pctodl-${randomBytes(8).toString('hex')}`, ...of }
}

/** Hash of the jobs: the same ids and commands are the same work. */
export function workOf(jobs: readonly Job[]): string {
  return createHash('sha256')
    .update(JSON.stringify(jobs.map(({ id, command }) => [id, command])))
    .digest('hex')
}

export function writeArrayNote(file: string, note: ArrayNote): void {
  writeNote(file, `${JSON.stringify(note)}\n`)
}

/**
 * @returns undefined if there is no note
 * @throws InvalidInputError if the file is not a valid note: an unknown array may be running
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
    'the note of an array; if squeue lists no array of this folder, remove the file',
  )
}

function parsed(text: string): Partial<ArrayNote> | null {
  try {
    return JSON.parse(text) as Partial<ArrayNote> | null
  } catch {
    return null
  }
}
