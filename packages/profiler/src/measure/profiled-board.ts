import type { BoardOccupancy, Clock, Gpu, TenantPool } from '@pctodl/platform'

/** What the profiler needs from a board, real or simulated. */
export interface ProfiledBoard {
  readonly gpu: Gpu
  readonly tenants: TenantPool
  readonly clock: Clock
  /**
   * Returns the processes that are on the board now, and the device of each tenant. Absent if no other process can be
   * on the board, as on a simulated one.
   */
  readonly occupancy?: () => BoardOccupancy
  /**
   * Whether the board exists only in this process, as a simulated one does. Each process then starts with a new board,
   * so a resumed run first measures the same rows again.
   */
  readonly livesInProcess?: boolean
}
