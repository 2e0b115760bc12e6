import { InvalidInputError, snapNearest } from '@pctodl/platform'

/** A measured setting (SM clock or power limit) with its throughput and power. */
export interface KneePoint {
  /** SM clock, MHz, or power limit, W. */
  readonly setting: number
  readonly throughput: number
  readonly powerW: number
}

/** Largest number of measurements. `docs/results.md` says what six of them lose, and names the command. */
const MAX_POINTS = 6
/**
 * The first settings to measure, as fractions of the range. On all simulated boards measured so far, the setting with
 * the most throughput per watt lies between the first and the last.
 */
const firstParts = [0.2, 0.45, 0.7]
/** Minimum distance between two measured settings, as a fraction of the range. */
const MIN_APART = 0.03

/**
 * Finds the setting with the most throughput per watt, with at most six measurements. The first three cover the range.
 * Each further one is at the vertex of a parabola through the best point and its two neighbours, in the logarithm of
 * throughput per watt (successive parabolic interpolation: R. Brent, Algorithms for Minimization without Derivatives,
 * 1973, chapter 5). If the vertex is too close to a measured setting, the wider interval beside the best point is
 * halved. If the best point is the lowest or highest one measured, that end of the range is measured next.
 *
 * The search assumes that throughput per watt has one peak; it may miss a second one.
 *
 * @param settings the settings to choose from, ascending
 * @param measure measures throughput, samples/s, and power, W, at a setting
 * @param measured points measured earlier; they count as measurements
 * @returns all points in the order of measurement, and the `best` of them
 * @throws InvalidInputError for no settings
 */
export async function findKnee(
  settings: readonly number[],
  measure: (setting: number) => Promise<KneePoint>,
  measured: readonly KneePoint[] = [],
): Promise<{ readonly best: KneePoint; readonly points: readonly KneePoint[] }> {
  if (settings.length === 0) throw new InvalidInputError('settings', settings, 'at least one')
  const low = settings[0]!
  const width = settings.at(-1)! - low
  const points = [...measured]
  const first = firstParts.map((part) => snapNearest(settings, low + part * width)!)
  while (points.length < MAX_POINTS) {
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
  const sorted = [...points].sort((a, b) => a.setting - b.setting)
  const at = sorted.indexOf(bestOf(points))
  const [before, best, after] = [sorted[at - 1], sorted[at]!, sorted[at + 1]]
  const [left, right] = [before?.setting ?? best.setting, after?.setting ?? best.setting]
  const halves = [0.5 * (left + best.setting), 0.5 * (best.setting + right)]
  if (best.setting - left <= right - best.setting) halves.reverse()
  const wanted = [...(before ? [] : [low]), ...(after ? [] : [high]), ...vertexOf(before, best, after), ...halves]
  const isApart = (setting: number) =>
    sorted.every((point) => {
      const apart = Math.abs(point.setting - setting)
      return apart > 0 && apart >= MIN_APART * (high - low)
    })
  return wanted.map((setting) => snapNearest(settings, setting)!).find(isApart)
}

/** Setting at the vertex of the parabola through a point and its two neighbours; none if the parabola has no maximum. */
function vertexOf(before: KneePoint | undefined, best: KneePoint, after: KneePoint | undefined): number[] {
  if (before === undefined || after === undefined) return []
  const slope = (a: KneePoint, b: KneePoint) => Math.log(efficiencyOf(b) / efficiencyOf(a)) / (b.setting - a.setting)
  const left = slope(before, best)
  const bend = (slope(best, after) - left) / (after.setting - before.setting)
  return bend < 0 ? [0.5 * (before.setting + best.setting) - (0.5 * left) / bend] : []
}
