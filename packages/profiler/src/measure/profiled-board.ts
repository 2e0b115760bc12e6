import type { BoardOccupancy, Clock, Gpu, TenantPool } from '@pctodl/platform'

/** What the profiler needs of a board, real or simulated. */
export interface ProfiledBoard {
  readonly gpu: Gpu
  readonly tenants: TenantPool
  readonly clock: Clock
  /** Who is on the board now, and where the tenants infer; absent where nobody else can be, as on a simulated board. */
  readonly occupancy?: () => BoardOccupancy
  /**
   * Whether the board is part of this process, as a simulated one is: it is new whenever a process starts, so a resumed run
   * first takes it through what it had gone through before.
   */
  readonly livesInProcess?: boolean
}
