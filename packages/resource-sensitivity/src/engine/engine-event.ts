import type { Job } from '../trace/job.js'

/**
 * What an engine is told. Events that say nothing new (a job that has finished already finishes, a server that is down fails)
 * change nothing, so that a report may come twice; only `stopped` names no run, and told again once the job runs anew it ends that run.
 *
 * - `submitted`: a job wants to run from now on.
 * - `finished`: its work is done, where that is known `atS`, before anybody could tell. `cancelled`: nobody wants it any more.
 * - `stopped`: it ended although it was neither finished nor told to (a crash, a lost process). It waits again, and goes on from
 *   `doneIterations`, or where that is not known from where it was last saved.
 * - `progressed`: it has done so much. `saved` says that this is in a checkpoint, so that it outlives the server.
 * - `server-failed`: what ran there waits again and goes on from where it was last saved. `server-draining`: it takes nothing new, and
 *   who runs there is told to save and leave; one that has failed stays failed. `server-returned`: it is back from either.
 * - `left`: a run that was told to stop has done so. Only a power budget asks for it: until then its watts are not given to others.
 * - `budget`: from `fromS` on (default now) the cluster has so many watts. Told ahead, a fall can be heeded in time.
 */
export type EngineEvent =
  | { readonly type: 'submitted'; readonly job: Job }
  | { readonly type: 'finished' | 'cancelled'; readonly jobId: number; readonly atS?: number }
  | { readonly type: 'stopped'; readonly jobId: number; readonly doneIterations?: number }
  | { readonly type: 'progressed'; readonly jobId: number; readonly doneIterations: number; readonly saved?: boolean }
  | { readonly type: 'server-failed' | 'server-draining' | 'server-returned'; readonly server: number }
  | { readonly type: 'left'; readonly jobId: number; readonly run: number }
  | { readonly type: 'budget'; readonly powerBudgetW: number; readonly fromS?: number }
