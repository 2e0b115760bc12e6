import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'

/** With this code a job says: I was told to stop, and have saved what I have done. (sysexits knows it as nothing of its own.) */
export const SAVED_EXIT_CODE = 85

/** What a job is told by its environment. */
export interface CheckpointContract {
  /** Where it says what it has saved: `{"doneIterations": 120}`, replaced whole. What else it saves is its own matter. */
  readonly checkpointFile: string
  /** Of the whole job, those done before included. */
  readonly iterations: number
  readonly jobId: number
  /** Which start of the job this is, from 1. */
  readonly run: number
  readonly gpus: number
  readonly cpus: number
}

export function contractEnvironment(contract: CheckpointContract): Record<string, string> {
  const { checkpointFile, iterations, jobId, run, gpus, cpus } = contract
  return {
    PCTODL_CHECKPOINT: checkpointFile,
    PCTODL_ITERATIONS: String(iterations),
    PCTODL_JOB: String(jobId),
    PCTODL_RUN: String(run),
    PCTODL_GPUS: String(gpus),
    PCTODL_CPUS: String(cpus),
  }
}

const checkpoint = z.object({ doneIterations: z.number().min(0) })

/** What a job has saved, undefined where it has saved nothing that can be read: then it begins anew. */
export function readCheckpoint(file: string): number | undefined {
  if (!existsSync(file)) return undefined
  try {
    return checkpoint.parse(JSON.parse(readFileSync(file, 'utf8'))).doneIterations
  } catch {
    return undefined
  }
}
