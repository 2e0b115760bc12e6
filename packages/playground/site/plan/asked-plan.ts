/** What every question for a plan has. */
export interface AskedPlan {
  /** Key of a board, or name of a parameter file that was opened. */
  readonly board: string
  readonly powerCapW: number
  /** Watts to stay below the cap. */
  readonly powerMarginW: number
  readonly sharePercentStep: number
  /** Most tenants; null for the limit of MPS. */
  readonly maxTenants: number | null
  /** MHz; null for the best one. */
  readonly memClockMhz: number | null
}
