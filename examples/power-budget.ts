/** Throughput and latency of one segment at a clock. */
export interface SegmentAtClock {
  readonly model: string
  /** Items/s. */
  readonly throughput: number
  /** Mean time of a batch, ms. */
  readonly latencyMs: number
}

/** Power of one GPU, and results of its segments, at a clock. */
export interface BoardAtClock {
  readonly smClockMhz: number
  readonly powerW: number
  readonly segments: readonly SegmentAtClock[]
}

/** The chosen clock of each GPU, as an index into its list of clocks, highest first. */
export interface Budgeted {
  readonly chosen: readonly number[]
  readonly totalW: number
  readonly met: boolean
}

/** Whether every service reaches its rate over all GPUs, and no segment takes longer for a batch than allowed. */
export function keepsObjectives(
  measured: readonly (readonly BoardAtClock[])[],
  chosen: readonly number[],
  rates: ReadonlyMap<string, number>,
  batchLimitsMs: ReadonlyMap<string, number>,
): boolean {
  const delivered = new Map<string, number>()
  for (const [gpu, choices] of measured.entries()) {
    for (const { model, throughput, latencyMs } of choices[chosen[gpu]!]!.segments) {
      if (latencyMs > batchLimitsMs.get(model)!) return false
      delivered.set(model, (delivered.get(model) ?? 0) + throughput)
    }
  }
  return [...rates].every(([model, ratePerS]) => (delivered.get(model) ?? 0) >= ratePerS)
}

/**
 * Lowers clocks one step at a time, on the GPU where a step saves most power without missing an objective. Ends when
 * the budget is met or no such step is left.
 */
export function meetBudget(
  measured: readonly (readonly BoardAtClock[])[],
  budgetW: number,
  rates: ReadonlyMap<string, number>,
  batchLimitsMs: ReadonlyMap<string, number>,
): Budgeted {
  const chosen = measured.map(() => 0)
  const total = () => measured.reduce((sum, choices, gpu) => sum + choices[chosen[gpu]!]!.powerW, 0)
  while (total() > budgetW) {
    const steps = measured
      .map((choices, gpu) => ({
        gpu,
        savedW: choices[chosen[gpu]!]!.powerW - (choices[chosen[gpu]! + 1]?.powerW ?? 1e9),
      }))
      .filter(({ gpu, savedW }) => {
        const next = chosen.map((choice, other) => (other === gpu ? choice + 1 : choice))
        return savedW > 0 && keepsObjectives(measured, next, rates, batchLimitsMs)
      })
      .sort((a, b) => b.savedW - a.savedW)
    if (steps[0] === undefined) break
    chosen[steps[0].gpu]!++
  }
  return { chosen, totalW: total(), met: total() <= budgetW }
}
