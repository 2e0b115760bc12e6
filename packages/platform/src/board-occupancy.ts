/** A process that the driver lists on a board. */
export interface BoardProcess {
  readonly pid: number
  /** Command name; null if it cannot be read, for example in another pid namespace. */
  readonly name: string | null
  /** True if this program or one of its descendants started the process; null if unknown. */
  readonly isOurs: boolean | null
}

/** The device on which a tenant's network runs. */
export interface TenantPlace {
  readonly pid: number
  /** Name of the device as the worker reports it, e.g. `NVIDIA A100-PCIE-40GB` or `cpu`. */
  readonly device: string
  /** True if the device is this board; null if the driver does not report it. */
  readonly isOnBoard: boolean | null
}

/** Processes on a board, and the device of each tenant, in the order of the tenants. */
export interface BoardOccupancy {
  readonly processes: readonly BoardProcess[]
  readonly tenants: readonly TenantPlace[]
}
