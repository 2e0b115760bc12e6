/** The inputs that all plans have. */
export interface AskedPlan {
  /** Key of a board, or name of an opened parameter file. */
  readonly board: string
  readonly powerCapW: number
  /** Watts by which planned power must stay below the cap, W. */
  readonly powerMarginW: number
  readonly sharePercentStep: number
  /** Maximum number of tenants; null for the MPS limit. */
  readonly maxTenants: number | null
  /** Memory clock, MHz; null to choose the best one. */
  readonly memClockMhz: number | null
}
