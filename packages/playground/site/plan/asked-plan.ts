/** The parameters common to all plans. */
export interface AskedPlan {
  /** Key of a board, or name of an opened parameter file. */
  readonly board: string
  readonly powerCapW: number
  /** Watts to stay below the cap. */
  readonly powerMarginW: number
  readonly sharePercentStep: number
  /** Maximum number of tenants; null for the limit of MPS. */
  readonly maxTenants: number | null
  /** MHz; null for the best one. */
  readonly memClockMhz: number | null
}
