/** The parameters common to all plans. */
export interface AskedPlan {
  /** Key of a board, or name of an opened parameter file. */
  readonly board: string
  readonly powerCapW: number
  /** Margin between the planned power and the cap, W. */
  readonly powerMarginW: number
  readonly sharePercentStep: number
  /** Maximum number of tenants; null for the MPS limit. */
  readonly maxTenants: number | null
  /** Memory clock, MHz; null to choose the best one. */
  readonly memClockMhz: number | null
}
