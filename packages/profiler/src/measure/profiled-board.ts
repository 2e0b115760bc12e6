import type { BoardOccupancy, Clock, Gpu, TenantPool } from '@pctodl/platform'

/** What the profiler needs from a board, real or simulated. */
export interface ProfiledBoard {
  readonly gpu: Gpu
  readonly tenants: TenantPool
  readonly clock: Clock
  /**
   * Processes on the board now, and the devices of the tenants; absent where no other process can be there, as on a
   * simulated board.
   */
  readonly occupancy?: () => BoardOccupancy
  /**
   * Whether the board lives in this process, as a simulated one does. Such a board is new in each process, so a resumed
   * run first replays its history.
   */
  readonly livesInProcess?: boolean
}
