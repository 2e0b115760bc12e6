import type { Clock, Tenant } from '@pctodl/platform'
import type { ImagePool } from '../images/image-pool.js'
import type { RequestDesk } from '../requests/request-desk.js'
import type { WorkerKind } from './worker-kind.js'

/** What the pool needs from an MPS daemon. `MpsDaemon` of `@pctodl/mps-control` implements it. */
export interface MpsMembership {
  /** Returns the environment variables that make a process an MPS client with this share, percent. */
  clientEnvironment(percent: number): Readonly<Record<string, string>>
  /** Rejects if the process is not a client. */
  verifyClient(pid: number): Promise<void>
}

export interface InferencePoolOptions {
  readonly worker: WorkerKind
  readonly images: ImagePool
  /** The MPS daemon of the workers. Without a daemon, nothing enforces the workers' shares. */
  readonly mps?: MpsMembership
  /** Dispatches requests to the tenants that serve a service. Default: tenants cannot serve a service. */
  readonly desk?: RequestDesk
  /** Folder for the logs that the workers write. Default: no logs. */
  readonly logFolder?: string
  /** Time that a worker has to finish its batch when it is ended, ms. Default 10,000. */
  readonly drainMs?: number
  /** Time that a worker has to load its model, ms. Default 180,000. */
  readonly loadMs?: number
  /**
   * Wait before a dead worker is restarted for the first time, ms. It doubles with each death, up to 30 s. Default 250.
   */
  readonly backOffMs?: number
  /** Whether shares may sum to more than 100 %. Default false. */
  readonly oversubscribe?: boolean
  /** Environment of the workers. Default: the environment of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Clock of the pool. Default: real time, the only useful clock for real processes. */
  readonly clock?: Clock
  /** Called with events of workers, such as starts and failures. */
  readonly onEvent?: (event: PoolEvent) => void
}

export interface PoolEvent {
  readonly kind: 'started' | 'stalled' | 'failed' | 'restarting' | 'ended'
  readonly id: number
  readonly pid: number
  readonly tenant: Tenant
  readonly message: string
}
