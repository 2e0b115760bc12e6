import type { BackendKind } from '@pctodl/backend'
import { numberBetween, UsageError } from '@pctodl/command-line'
import type { MeasureOptions } from './plan/profile-plan.js'

/** The board that `--gpu` selects; without `--gpu`, the first real board. A simulated board must be named. */
export function boardOf({ backend, gpu }: { readonly backend: BackendKind; readonly gpu?: string }): string {
  if (gpu !== undefined) return gpu
  if (backend === 'sim')
    throw new UsageError('--backend sim needs --gpu, the board to simulate, such as 3080Ti or A100')
  return '0'
}

/**
 * Returns one share and one batch size per tenant. If only one share or one batch size is given, it applies to all
 * tenants, as in the Python code.
 */
export function perTenant(
  p: readonly number[],
  b: readonly number[],
): { readonly shares: number[]; readonly batches: number[] } {
  const count = Math.max(p.length, b.length)
  const spread = (values: readonly number[]) =>
    values.length === 1 ? Array<number>(count).fill(values[0]!) : [...values]
  const shares = spread(p)
  const batches = spread(b)
  if (shares.length !== batches.length) {
    throw new UsageError(
      `--shares has ${p.length} values and --batches ${b.length}; give as many, or a single one for all tenants`,
    )
  }
  const sum = shares.reduce((total, share) => total + share, 0)
  if (sum > 100) throw new UsageError(`--shares sum to ${sum} %, at most 100 are there`)
  return { shares, batches }
}

/**
 * Converts the command line's measuring times from seconds to milliseconds. Options that were not given are absent.
 */
export function measureOf({
  warmupSeconds,
  measureSeconds,
}: {
  readonly warmupSeconds?: number
  readonly measureSeconds?: number
}): Partial<MeasureOptions> {
  return {
    ...(warmupSeconds === undefined ? {} : { settleMinMs: 1000 * warmupSeconds }),
    ...(measureSeconds === undefined ? {} : { windowMinMs: 1000 * measureSeconds }),
  }
}

/** Parser of an option that is a tenant's share, percent. */
export function shareOf(option: string) {
  const parse = numberBetween(0, 100)
  return (text: string): number => {
    const value = parse(text)
    if (value === 0) throw new UsageError(`${option}: a share of 0 % runs nothing`)
    return value
  }
}
