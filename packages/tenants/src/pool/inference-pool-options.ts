import type { Clock, Tenant } from '@pctodl/platform'
import type { ImagePool } from '../images/image-pool.js'
import type { RequestDesk } from '../requests/request-desk.js'
import type { WorkerKind } from './worker-kind.js'

/** What the pool needs from an MPS daemon; `MpsDaemon` of `@pctodl/mps-control` provides it. */
export interface MpsMembership {
  /** Environment variables that make a process a client with this share. */
  clientEnvironment(percent: number): Readonly<Record<string, string>>
  /** Rejects if the process is not a client. */
  verifyClient(pid: number): Promise<void>
}

export interface InferencePoolOptions {
  readonly worker: WorkerKind
  readonly images: ImagePool
  /** The MPS daemon. Without one, workers are told their shares, but nothing enforces them. */
  readonly mps?: MpsMembership
  /** Receives the requests of the services that tenants serve. Default: tenants cannot serve any. */
  readonly desk?: RequestDesk
  /** Folder for the workers' own logs. Default: no logs. */
  readonly logFolder?: string
  /** Time for a worker to finish its batch when it is ended, ms. Default 10,000. */
  readonly drainMs?: number
  /** Time for a worker to load its model, ms. Default 180,000. */
  readonly loadMs?: number
  /** First delay before a dead worker is restarted, ms; it doubles up to 30 s. Default 250. */
  readonly backOffMs?: number
  /** Allow shares that sum to more than 100 %. Default false. */
  readonly oversubscribe?: boolean
  /** The workers' environment. Default: that of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Default: real time, the only useful clock for real processes. */
  readonly clock?: Clock
  /** Called with events of workers, e.g. starts and failures. */
  readonly onEvent?: (event: PoolEvent) => void
}

export interface PoolEvent {
  readonly kind: 'started' | 'stalled' | 'failed' | 'restarting' | 'ended'
  readonly id: number
  readonly pid: number
  readonly tenant: Tenant
  readonly message: string
}
