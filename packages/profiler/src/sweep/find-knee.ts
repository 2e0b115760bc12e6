import { InvalidInputError, snapNearest } from '@pctodl/platform'

/** A measured setting (SM clock or power limit) with its throughput and power. */
export interface KneePoint {
  /** SM clock, MHz, or power limit, W. */
  readonly setting: number
  readonly throughput: number
  readonly powerW: number
}

export interface KneeOptions {
  /** Maximum number of settings to measure, at least 3. Default 6. */
  readonly maxPoints?: number
  /** Points measured earlier. They count towards `maxPoints`. */
  readonly measured?: readonly KneePoint[]
}

/**
 * The first settings to measure, as fractions of the range. On all simulated boards measured so far, the setting with
 * the most throughput per watt lies between the first and the last.
 */
const firstParts = [0.2, 0.45, 0.7]
/** Minimum distance between two measured settings, as a fraction of the range. */
const MIN_APART = 0.03

/**
 * Finds the setting with the most throughput per watt, with at most six measurements by default. The first three cover
 * the range. Each further one is at the vertex of a parabola through the best point and its two neighbours, in the
 * logarithm of throughput per watt (successive parabolic interpolation: R. Brent, Algorithms for Minimization without
 * Derivatives, 1973, chapter 5). If the vertex is too close to a measured setting, the wider interval beside the best
 * point is halved. If the best point is the lowest or highest one measured, that end of the range is measured next.
 *
 * The search assumes that throughput per watt has one peak; it may miss a second one.
 *
 * @param settings the settings to choose from, ascending
 * @param measure measures throughput, samples/s, and power, W, at a setting
 * @returns all points in the order of measurement, and the `best` of them
 * @throws InvalidInputError for no settings, or a `maxPoints` below three
 */
export async function findKnee(
  settings: readonly number[],
  measure: (setting: number) => Promise<KneePoint>,
  { maxPoints = 6, measured = [] }: KneeOptions = {},
): Promise<{ readonly best: KneePoint; readonly points: readonly KneePoint[] }> {
  if (settings.length === 0) throw new InvalidInputError('settings', settings, 'at least one')
  if (!(Number.isInteger(maxPoints) && maxPoints >= 3)) {
    throw new InvalidInputError('maxPoints', maxPoints, 'a whole number of at least 3')
  }
  const low = settings[0]!
  const width = settings.at(-1)! - low
  const points = [...measured]
  const first = firstParts.map((part) => snapNearest(settings, low + part * width)!)
  while (points.length < maxPoints) {
    const isNew = (setting: number) => points.every((point) => point.setting !== setting)
    const next = first.find(isNew) ?? nextSetting(settings, points)
    if (next === undefined) break
    points.push(await measure(next))
  }
  return { best: bestOf(points), points }
}

/** Samples per joule. */
export function efficiencyOf({ throughput, powerW }: KneePoint): number {
  return throughput / powerW
}

function bestOf(points: readonly KneePoint[]): KneePoint {
  return points.reduce((best, point) => (efficiencyOf(point) > efficiencyOf(best) ? point : best))
}

/** The next setting to measure; undefined if the best point cannot be bracketed more closely. */
function nextSetting(settings: readonly number[], points: readonly KneePoint[]): number | undefined {
  const low = settings[0]!
  const high = settings.at(-1)!
  const least = MIN_APART * (high - low)
  const sorted = [...points].sort((a, b) => a.setting - b.setting)
  const at = sorted.indexOf(bestOf(points))
  const best = sorted[at]!.setting
  const fresh = (wanted: number): number | undefined => {
    const setting = snapNearest(settings, wanted)!
    return sorted.every((point) => point.setting !== setting && Math.abs(point.setting - setting) >= least)
      ? setting
      : undefined
  }
  if (at === 0 && best > low) return fresh(low) ?? fresh(0.5 * (best + sorted[1]!.setting))
  if (at === sorted.length - 1 && best < high) return fresh(high) ?? fresh(0.5 * (best + sorted[at - 1]!.setting))
  const left = sorted[at - 1]?.setting ?? best
  const right = sorted[at + 1]?.setting ?? best
  const halves = [0.5 * (left + best), 0.5 * (best + right)]
  if (best - left <= right - best) halves.reverse()
  const vertex = vertexOf(sorted, at)
  return (vertex === undefined ? undefined : fresh(vertex)) ?? fresh(halves[0]!) ?? fresh(halves[1]!)
}

/**
 * Setting at the vertex of the parabola through a point and its two neighbours; undefined if the parabola has no
 * maximum.
 */
function vertexOf(sorted: readonly KneePoint[], at: number): number | undefined {
  const [before, here, after] = [sorted[at - 1], sorted[at]!, sorted[at + 1]]
  if (before === undefined || after === undefined) return undefined
  const [x0, x1, x2] = [before.setting, here.setting, after.setting]
  const [y0, y1, y2] = [before, here, after].map((point) => Math.log(efficiencyOf(point))) as [number, number, number]
  const left = (y1 - y0) / (x1 - x0)
  const right = (y2 - y1) / (x2 - x1)
  const bend = (right - left) / (x2 - x0)
  return bend < 0 ? 0.5 * (x0 + x1) - (0.5 * left) / bend : undefined
}
