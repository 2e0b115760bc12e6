import type { ServedService } from '@pctodl/gpu-sim'
import type { BoardOccupancy, Clock, Gpu, Service, ServiceCounters, ServiceDesk, TenantPool } from '@pctodl/platform'

/** Kinds of board. `auto` takes a real board if there is one, and reports its choice. */
export const backendKinds = ['auto', 'sim', 'nvml'] as const
export type BackendKind = (typeof backendKinds)[number]

/** Requests of a service; called once for each service, when it comes. */
export type TrafficOf = (service: Service) => Omit<ServedService, 'service'>

/** A desk that also keeps the counters of ended services. */
export interface BackendDesk extends ServiceDesk {
  readonly departed: readonly ServiceCounters[]
}

/** A board, the processes on it, and their clock. */
export interface Backend {
  readonly kind: 'sim' | 'nvml'
  /** What was opened and why, in a sentence for people. */
  readonly description: string
  /** Inputs of the tenants, in words; measurements are comparable only with the same inputs. */
  readonly inputs: string
  readonly gpu: Gpu
  readonly tenants: TenantPool
  readonly clock: Clock
  /** Source of the requests that tenants answer; absent if none were configured. */
  readonly desk?: BackendDesk
  /**
   * Processes on the board, and the devices of the tenants; absent where nobody else can be, as on a simulated board.
   */
  readonly occupancy?: () => BoardOccupancy
  /** Whether the board is part of this process and ends with it. */
  readonly livesInProcess: boolean
  /** End all started processes and release the driver. Idempotent. */
  close(): Promise<void>
}
