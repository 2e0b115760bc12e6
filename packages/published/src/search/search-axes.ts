const publishedBatchSizes: readonly number[] = [4, 8, 16, 32, 64, 96, 128, 192, 256]

/** Search space of the published search. */
export interface PublishedSpace {
  readonly model: string
  readonly powerCapW: number
  /** Shares, ascending, percent. */
  readonly shares: readonly number[]
  /** SM clocks, ascending, MHz. */
  readonly smClocksMhz: readonly number[]
  /** Memory clocks, descending, MHz. */
  readonly memClocksMhz: readonly number[]
  readonly maxTotalBatch: number | undefined
}

/** Shares to try, percent: multiples of the step, up to the maximum of a tenant. */
export function shareAxis(step: number, maxSharePercent: number): number[] {
  const shares: number[] = []
  for (let share = step; share <= Math.min(100, maxSharePercent) + 1e-6; share += step) shares.push(share)
  return shares
}

/** Batch sizes to try for a new tenant with this share. `tenants` is the number of tenants including the new one. */
export function batchesFor(
  { model, maxTotalBatch }: PublishedSpace,
  share: number,
  tenants: number,
): readonly number[] {
  const low = Math.max(4, Math.trunc(0.8 * share))
  let high = Math.trunc(6.4 * share)
  if (model.includes('vgg19')) high = Math.min(high, 160)
  if (maxTotalBatch !== undefined) {
    high = Math.min(high, Math.max(4, Math.trunc(maxTotalBatch / Math.max(1, tenants))))
  }
  const within = publishedBatchSizes.filter((batch) => batch >= low && batch <= high)
  if (within.length > 0) return within
  return [publishedBatchSizes.reduce((a, b) => (Math.abs(b - low) < Math.abs(a - low) ? b : a))]
}

/** Pairs of share and batch size to try, in the published order. Only shares within `free` percent occur. */
export function* candidatePairs(space: PublishedSpace, free: number, tenants: number): Generator<[number, number]> {
  for (const share of space.shares) {
    if (share > free + 1e-5) continue
    for (const batch of batchesFor(space, share, tenants)) yield [share, batch]
  }
}
