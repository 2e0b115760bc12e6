/** A process that the driver lists on a board. */
export interface BoardProcess {
  readonly pid: number
  /** Command name; null where it cannot be read, for example in another pid namespace. */
  readonly name: string | null
  /** Whether this program or one of its descendants started it; null where unknown. */
  readonly isOurs: boolean | null
}

/** The device that runs a tenant's inference. */
export interface TenantPlace {
  readonly pid: number
  /** Device name reported by the worker, e.g. `NVIDIA A100-PCIE-40GB` or `cpu`. */
  readonly device: string
  /** Whether it is this board; null where the driver does not report it. */
  readonly isOnBoard: boolean | null
}

/** Processes on a board, and the devices of the tenants, in their order. */
export interface BoardOccupancy {
  readonly processes: readonly BoardProcess[]
  readonly tenants: readonly TenantPlace[]
}
