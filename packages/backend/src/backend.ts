import type { ServedService } from '@pctodl/gpu-sim'
import type { BoardOccupancy, Clock, Gpu, Service, ServiceCounters, ServiceDesk, TenantPool } from '@pctodl/platform'

/** Kinds of board. `auto` opens a real board if there is one, else a simulated one, and reports its choice. */
export const backendKinds = ['auto', 'sim', 'nvml'] as const
export type BackendKind = (typeof backendKinds)[number]

/** Returns the request arrivals and queue limits of a service. Called once per service, when the service is added. */
export type TrafficOf = (service: Service) => Omit<ServedService, 'service'>

/** A `ServiceDesk` that also keeps the counters of removed services. */
export interface BackendDesk extends ServiceDesk {
  readonly departed: readonly ServiceCounters[]
}

/** An opened board, the pool of its tenants, and the clock that they run on. */
export interface Backend {
  readonly kind: 'sim' | 'nvml'
  /** What was opened and why, as a sentence for the user. */
  readonly description: string
  /** Description of the tenants' inputs. Measurements are comparable only if their inputs are the same. */
  readonly inputs: string
  readonly gpu: Gpu
  readonly tenants: TenantPool
  readonly clock: Clock
  /** Dispatches requests to the tenants; absent if the back end was opened without `trafficOf`. */
  readonly desk?: BackendDesk
  /**
   * Returns the processes on the board and the device of each tenant. Absent for a simulated board, which no other
   * process can use.
   */
  readonly occupancy?: () => BoardOccupancy
  /** True if the board exists only in this process and ends with it. */
  readonly livesInProcess: boolean
  /** Ends all started processes and releases the driver. Idempotent. */
  close(): Promise<void>
}
