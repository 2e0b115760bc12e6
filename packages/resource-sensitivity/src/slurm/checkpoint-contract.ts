import { readNote } from '@pctodl/job-array'
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
  /** Where watts are shared out: of each GPU, node by node, at the start; they may change while the job runs. */
  readonly powerLimitsW?: readonly number[]
}

export function contractEnvironment(contract: CheckpointContract): Record<string, string> {
  const { checkpointFile, iterations, jobId, run, gpus, cpus, powerLimitsW } = contract
  return {
    PCTODL_CHECKPOINT: checkpointFile,
    PCTODL_ITERATIONS: String(iterations),
    PCTODL_JOB: String(jobId),
    PCTODL_RUN: String(run),
    PCTODL_GPUS: String(gpus),
    PCTODL_CPUS: String(cpus),
    ...(powerLimitsW && { PCTODL_POWER_LIMIT_W: powerLimitsW.join(',') }),
  }
}

const checkpoint = z.object({ doneIterations: z.number().min(0) })

/** What a job has saved, undefined where it has saved nothing that can be read: then it begins anew. */
export function readCheckpoint(file: string): number | undefined {
  try {
    const text = readNote(file)
    return text === undefined ? undefined : checkpoint.parse(JSON.parse(text)).doneIterations
  } catch {
    return undefined
  }
}
