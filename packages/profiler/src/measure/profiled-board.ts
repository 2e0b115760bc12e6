import type { BoardOccupancy, Clock, Gpu, TenantPool } from '@pctodl/platform'

/** What the profiler needs from a board, real or simulated. */
export interface ProfiledBoard {
  readonly gpu: Gpu
  readonly tenants: TenantPool
  readonly clock: Clock
  /**
   * Processes on the board now, and the devices of the tenants. Absent if no other process can be on it, as on a
   * simulated board.
   */
  readonly occupancy?: () => BoardOccupancy
  /**
   * Whether the board exists only in this process, as a simulated one does. It is then new in each process, so a
   * resumed run first replays its history.
   */
  readonly livesInProcess?: boolean
}
