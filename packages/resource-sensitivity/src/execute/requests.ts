import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { readNote, workFolder } from '@pctodl/job-array'
import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'
import { parseJsonAs } from '../input-files.js'
import type { Job } from '../trace.js'

const job = z.object({ id: z.int().min(0), model: z.string(), iterations: z.number(), gpus: z.number() })
const request = z.strictObject({ submit: z.array(job).exactOptional(), cancel: z.array(z.number()).exactOptional() })

export interface ScheduleRequest {
  /** Jobs without an arrival time: they arrive when they are read. */
  readonly submit?: readonly Omit<Job, 'arrivalS'>[]
  /** IDs of jobs to cancel. */
  readonly cancel?: readonly number[]
}

/**
 * Send a request to a running schedule from any process of the same user.
 *
 * @param folder the `requests` folder from the schedule's options
 * @returns the request file, which is removed once journalled or rejected
 * @throws InvalidInputError if the folder does not exist; PctodlError `NOT_OWN` if others could write to it
 */
export function requestOfSchedule(folder: string, asked: ScheduleRequest): string {
  const name = `${String(Date.now()).padStart(15, '0')}-${randomBytes(4).toString('hex')}.json`
  if (!existsSync(folder)) throw new InvalidInputError(folder, 'nothing', 'the folder of a schedule that is executed')
  const file = path.join(workFolder(folder), name)
  writeFileAtomically(file, JSON.stringify(asked), 0o600)
  return file
}

/**
 * Reads the requests of a folder: submissions before cancellations, as the clock may have been set back in between; then
 * the oldest first. An incomplete file or another user's file yields an error.
 */
export function readRequests(folder: string): { readonly file: string; readonly request: ScheduleRequest | Error }[] {
  const names = readdirSync(workFolder(folder)).filter((name) => name.endsWith('.json'))
  const requests = names.sort().map((name) => {
    const file = path.join(folder, name)
    try {
      return { file, request: parseJsonAs<ScheduleRequest>(request, readNote(file) ?? '', file) }
    } catch (error) {
      return { file, request: error as Error }
    }
  })
  return requests.sort((a, b) => Number('cancel' in a.request) - Number('cancel' in b.request))
}

export function forgetRequest(file: string): void {
  rmSync(file, { force: true, recursive: true })
}
