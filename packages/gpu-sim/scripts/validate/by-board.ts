import { quantile } from '@pctodl/numerics'
import { type Comparison, summarise } from './comparison.js'

/** What an error is worth: a point of a share, or a percent of a value. Larger errors first. */
export function failsFirst(a: Comparison, b: Comparison): number {
  return summarise(b).median - summarise(a).median
}

/** For each board the errors of what is held out on it, and of all, and the comparison that fails first. */
export function boardTable(comparisons: readonly Comparison[]): { head: string[]; rows: string[][] } {
  const boards = [...new Set(comparisons.map(({ board }) => board))].sort()
  const medianOf = (of: readonly Comparison[]) =>
    of.length === 0
      ? ''
      : quantile(
          of.map((each) => summarise(each).median),
          0.5,
        ).toFixed(1)
  const rows = boards.map((board) => {
    const own = comparisons.filter((each) => each.board === board)
    const [percent, points] = (['relative', 'points'] as const).map((errors) =>
      own.filter((each) => each.heldOut && each.errors === errors),
    )
    const worst = [...own].sort(failsFirst)[0]!
    const values = own.reduce((sum, each) => sum + each.points.length, 0)
    const unit = worst.errors === 'relative' ? ' %' : ' points'
    const first = `${worst.table}: ${worst.quantity}, ${summarise(worst).median.toFixed(1)}${unit}`
    return [
      board,
      String(values),
      medianOf(percent!),
      medianOf(points!),
      medianOf(own.filter((each) => !each.heldOut)),
      first,
    ]
  })
  const head = ['board', 'values', 'held out: median, %', 'held out: median, points', 'fitted: median', 'fails first']
  return { head, rows }
}
