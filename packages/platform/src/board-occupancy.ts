/** A process that the driver lists on a board. */
export interface BoardProcess {
  readonly pid: number
  /** Of its command; null where it cannot be read here, as of another pid namespace. */
  readonly name: string | null
  /** Whether this program, or a process that it started, started it; null where that cannot be told. */
  readonly isOurs: boolean | null
}

/** Where one tenant infers. */
export interface TenantPlace {
  readonly pid: number
  /** As its worker says, e.g. `NVIDIA A100-PCIE-40GB` or `cpu`. */
  readonly device: string
  /** Whether that is this board; null where the driver does not tell. */
  readonly isOnBoard: boolean | null
}

/** Who is on a board, and where the tenants infer, in their order. */
export interface BoardOccupancy {
  readonly processes: readonly BoardProcess[]
  readonly tenants: readonly TenantPlace[]
}
