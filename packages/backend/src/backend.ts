import type { ServedService } from '@pctodl/gpu-sim'
import type { BoardOccupancy, Clock, Gpu, Service, ServiceCounters, ServiceDesk, TenantPool } from '@pctodl/platform'

/** What can stand behind the interfaces. `auto` takes a real board where there is one and says which it took. */
export const backendKinds = ['auto', 'sim', 'nvml'] as const
export type BackendKind = (typeof backendKinds)[number]

/** Where the requests of a service come from; asked once for each service, when it comes. */
export type TrafficOf = (service: Service) => Omit<ServedService, 'service'>

/** A desk that also knows the services that have ended. */
export interface BackendDesk extends ServiceDesk {
  readonly departed: readonly ServiceCounters[]
}

/** A board, the processes on it and the time they live in. */
export interface Backend {
  readonly kind: 'sim' | 'nvml'
  /** What was opened and why, in a sentence for people. */
  readonly description: string
  /** What the tenants infer on, in words; part of what makes two measurements comparable. */
  readonly inputs: string
  readonly gpu: Gpu
  readonly tenants: TenantPool
  readonly clock: Clock
  /** Takes in the requests that tenants answer; absent where none were asked for. */
  readonly desk?: BackendDesk
  /** Who is on the board now, and where the tenants infer; absent where nobody else can be, as on a simulated board. */
  readonly occupancy?: () => BoardOccupancy
  /** Whether the board is part of this process and forgotten with it. */
  readonly livesInProcess: boolean
  /** End every process that was started and let go of the driver. Idempotent. */
  close(): Promise<void>
}
