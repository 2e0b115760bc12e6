import { quantile } from '@pctodl/numerics'

/** A measured value, what the simulator says, and what somebody without a simulator would have said. */
export interface Point {
  readonly label: string
  readonly measured: number
  readonly simulated: number
  readonly baseline?: number
}

export interface Comparison {
  readonly table: string
  readonly board: string
  readonly quantity: string
  /** `relative`: errors in percent of the measured value; `points`: differences of percentages. */
  readonly errors: 'relative' | 'points'
  /** Whether anything of these rows, beyond what `known` says, was used to choose a coefficient. */
  readonly heldOut: boolean
  /** What was taken from the table itself to make the comparison possible. */
  readonly known?: string
  /** What the baseline is. */
  readonly baseline: string
  readonly points: readonly Point[]
}

export interface Summary {
  readonly n: number
  readonly median: number
  readonly p90: number
  readonly bias: number
  /** 95 % interval of the bias, from the order of the errors; null for fewer than six. */
  readonly biasRange: readonly [number, number] | null
  readonly rank: number | null
  readonly baselineMedian: number | null
  readonly worst: Point & { readonly error: number }
}

/** Percent of the measured value, or points. */
export function errorOf({ errors }: Pick<Comparison, 'errors'>, value: number, { measured }: Point): number {
  return errors === 'relative' ? 100 * (value / measured - 1) : value - measured
}

export function summarise(comparison: Comparison): Summary {
  const { points } = comparison
  const signed = points.map((point) => errorOf(comparison, point.simulated, point))
  const baselines = points.filter((point) => point.baseline !== undefined)
  const worst = signed.reduce((at, error, i) => (Math.abs(error) > Math.abs(signed[at]!) ? i : at), 0)
  return {
    n: points.length,
    median: quantile(signed.map(Math.abs), 0.5),
    p90: quantile(signed.map(Math.abs), 0.9),
    bias: quantile(signed, 0.5),
    biasRange: medianRange(signed),
    rank: points.length < 4 ? null : rankCorrelation(points),
    baselineMedian:
      baselines.length === 0
        ? null
        : quantile(
            baselines.map((point) => Math.abs(errorOf(comparison, point.baseline!, point))),
            0.5,
          ),
    worst: { ...points[worst]!, error: signed[worst]! },
  }
}

/** The median lies between two values of the sample that are as many places from its middle as a fair coin strays in 95 of 100. */
function medianRange(values: readonly number[]): [number, number] | null {
  if (values.length < 6) return null
  const sorted = [...values].sort((a, b) => a - b)
  const strays = 0.98 * Math.sqrt(sorted.length)
  const low = Math.max(0, Math.floor(sorted.length / 2 - strays))
  return [sorted[low]!, sorted[sorted.length - 1 - low]!]
}

/** Spearman's, ties at their mean rank. */
export function rankCorrelation(points: readonly Pick<Point, 'measured' | 'simulated'>[]): number | null {
  const ranks = (values: readonly number[]) =>
    values.map((v) => values.filter((w) => w < v).length + values.filter((w) => w === v).length / 2)
  const x = ranks(points.map((point) => point.simulated))
  const y = ranks(points.map((point) => point.measured))
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [mx, my] = [mean(x), mean(y)]
  const dot = (u: readonly number[], v: readonly number[], mu: number, mv: number) =>
    u.reduce((sum, value, i) => sum + (value - mu) * (v[i]! - mv), 0)
  const scale = Math.sqrt(dot(x, x, mx, mx) * dot(y, y, my, my))
  return scale === 0 ? null : dot(x, y, mx, my) / scale
}
