import { createHash, randomBytes } from 'node:crypto'
import { InvalidInputError } from '@pctodl/platform'
import type { Job, JobOutcome } from './job-array.js'
import { readNote, writeNote } from './work-folder.js'

/**
 * State of an array, written just before the array is submitted. If the submission gets no answer from Slurm, a later
 * call with the same jobs finds the array by this note.
 */
export interface ArrayNote {
  /** Hash that identifies the jobs. */
  readonly work: string
  /** Comment by which the array is found in the queue. */
  readonly mark: string
  /** Number of times that these elements were submitted, including this submission. */
  readonly attempt: number
  /** Indices of the submitted elements in the list of jobs, ascending. */
  readonly indices: readonly number[]
  /** Outcomes of the jobs that are not submitted again. */
  readonly outcomes: readonly JobOutcome[]
}

export function newArray(jobs: readonly Job[], of: Pick<ArrayNote, 'attempt' | 'indices' | 'outcomes'>): ArrayNote {
  return { work: workOf(jobs), mark: `pctodl-${randomBytes(8).toString('hex')}`, ...of }
}

/** Hash of the jobs. Jobs with the same ids and commands have the same hash. */
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
 * @throws InvalidInputError if the file is not a valid note, because an unknown array may be running
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
