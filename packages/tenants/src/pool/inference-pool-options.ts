import type { Clock, Tenant } from '@pctodl/platform'
import type { ImagePool } from '../images/image-pool.js'
import type { RequestDesk } from '../requests/request-desk.js'
import type { WorkerKind } from './worker-kind.js'

/** What the pool needs of an MPS daemon; `MpsDaemon` of `@pctodl/mps-control` is one. */
export interface MpsMembership {
  /** What a process must have in its environment to become a client with this share. */
  clientEnvironment(percent: number): Readonly<Record<string, string>>
  /** Rejects where the process is no client. */
  verifyClient(pid: number): Promise<void>
}

export interface InferencePoolOptions {
  readonly worker: WorkerKind
  readonly images: ImagePool
  /** Without it shares are told to the workers and bind nobody. */
  readonly mps?: MpsMembership
  /** Takes in the requests of the services that tenants serve. Default: none may. */
  readonly desk?: RequestDesk
  /** Folder for the workers' own logs. Default: none are written. */
  readonly logFolder?: string
  /** How long a worker may take to finish its batch when it is ended, ms. Default 10,000. */
  readonly drainMs?: number
  /** How long a worker may take to load its model, ms. Default 180,000. */
  readonly loadMs?: number
  /** First wait before a worker that died is started again, ms; it doubles up to 30 s. Default 250. */
  readonly backOffMs?: number
  /** Allow shares that sum to more than 100 %. Default false. */
  readonly oversubscribe?: boolean
  /** Default: that of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Default: real time, which is the only one that processes live in. */
  readonly clock?: Clock
  /** Told what happens to workers, in words. */
  readonly onEvent?: (event: PoolEvent) => void
}

export interface PoolEvent {
  readonly kind: 'started' | 'stalled' | 'failed' | 'restarting' | 'ended'
  readonly id: number
  readonly pid: number
  readonly tenant: Tenant
  readonly message: string
}
