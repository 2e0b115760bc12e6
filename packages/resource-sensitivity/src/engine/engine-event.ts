import type { Job } from '../trace/job.js'

/**
 * Input of the engine. Events without news (a finished job finishes, a failed server fails) change nothing, so reports
 * may be repeated. The exception is `stopped`, which names no run: repeated after the job has restarted, it ends the
 * new run.
 *
 * - `submitted`: a job wants to run from now on.
 * - `finished`: its work is done, at `atS` if that is known to be earlier. `cancelled`: it is no longer wanted.
 * - `stopped`: it ended without having finished and without a request (a crash, a lost process). It waits again and
 * resumes from `doneIterations`, or by default from its last checkpoint.
 * - `progressed`: the amount of work done. `saved`: that progress is in a checkpoint and survives a server failure.
 * - `server-failed`: jobs there wait again and resume from their last checkpoint. `server-draining`: the server accepts
 * nothing new, and its jobs are told to save and exit; a failed server stays failed. `server-returned`: it is back from
 * either state.
 * - `left`: a run that was told to stop has exited. Needed only with a power budget: until then its watts are not given
 * to others.
 * - `budget`: the power limit of the cluster from `fromS` on (default: now). A fall announced in advance can be
 * prepared for.
 */
export type EngineEvent =
  | { readonly type: 'submitted'; readonly job: Job }
  | { readonly type: 'finished' | 'cancelled'; readonly jobId: number; readonly atS?: number }
  | { readonly type: 'stopped'; readonly jobId: number; readonly doneIterations?: number }
  | { readonly type: 'progressed'; readonly jobId: number; readonly doneIterations: number; readonly saved?: boolean }
  | { readonly type: 'server-failed' | 'server-draining' | 'server-returned'; readonly server: number }
  | { readonly type: 'left'; readonly jobId: number; readonly run: number }
  | { readonly type: 'budget'; readonly powerBudgetW: number; readonly fromS?: number }
