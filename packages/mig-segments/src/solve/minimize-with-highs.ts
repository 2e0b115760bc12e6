import type { Model } from 'highs'
import { type CoverProblem, isCovered } from './cover-problem.js'
import { gpcsOf, maximalPatterns, SIZES } from './size-counts.js'

export interface HighsGoal {
  /** What to make least. */
  readonly objective: 'gpus' | 'gpcs'
  /** Boards allowed. */
  readonly maxGpus: number
  /** Known to be needed; what is sought is at least this. */
  readonly atLeast: number
  /** Where to start from: segments by service and size. */
  readonly start: Int32Array
  readonly timeLimitMs: number
}

export interface HighsOutcome {
  /** Segments by service and size; null where none was found. */
  readonly counts: Int32Array | null
  /** No solution within `maxGpus` is below this; infinite where there is none at all. */
  readonly bound: number
  readonly runTimeMs: number
}

/** Tighter than the solver's own: a coverage that is short by a millionth would lose requests. */
const FEASIBILITY = 1e-9

/**
 * Solve the pattern program with HiGHS: integers `x[m,s]` (segments of service m of size s) and `y[p]` (boards with the
 * maximal pattern p), each rate covered, and of each size at most as many segments as the boards' patterns hold.
 */
export async function minimizeWithHighs(problem: CoverProblem, goal: HighsGoal): Promise<HighsOutcome> {
  const { default: loadHighs } = await import('highs')
  const highs = await loadHighs()
  const columns: { m: number; s: number }[] = []
  for (let m = 0; m < problem.services; m++) {
    for (let s = 0; s < SIZES; s++) if (problem.throughput[m * SIZES + s]! > 0) columns.push({ m, s })
  }
  const text = programText(problem, columns, goal)
  return highs.withModel({ format: 'lp', data: text }, (model) => {
    model.options.set({
      output_flag: false,
      time_limit: goal.timeLimitMs / 1000,
      mip_rel_gap: 0,
      // Both objectives are whole numbers: a bound within this of the solution proves it.
      mip_abs_gap: 0.999,
      mip_feasibility_tolerance: FEASIBILITY,
      primal_feasibility_tolerance: FEASIBILITY,
    })
    giveStart(model, columns, goal.start)
    model.run()
    const runTimeMs = model.getRunTime() * 1000
    const status = model.getModelStatus()
    if (status === highs.constants.modelStatus.infeasible) return { counts: null, bound: Infinity, runTimeMs }
    const dualBound = Number(model.info.get('mip_dual_bound'))
    const bound = Number.isFinite(dualBound) ? Math.max(goal.atLeast, Math.ceil(dualBound - 1e-6)) : goal.atLeast
    return { counts: readCounts(model, problem, columns), bound, runTimeMs }
  })
}

function programText(problem: CoverProblem, columns: readonly { m: number; s: number }[], goal: HighsGoal): string {
  const { objective, maxGpus, atLeast } = goal
  const x = ({ m, s }: { m: number; s: number }) => `x_${m}_${s}`
  const patterns = maximalPatterns.map((_, p) => `y_${p}`)
  const gpcs = columns.map((column) => `${gpcsOf[column.s]} ${x(column)}`)
  const lines = ['Minimize', 'total:', ...plus(objective === 'gpus' ? patterns : gpcs), 'Subject To']
  for (let m = 0; m < problem.services; m++) {
    const own = columns.filter((column) => column.m === m)
    // Divided by the rate, so that the tolerance is the same share of every service.
    const share = (s: number) => (problem.throughput[m * SIZES + s]! / problem.rates[m]!).toPrecision(17)
    lines.push(`rate_${m}:`, ...plus(own.map((column) => `${share(column.s)} ${x(column)}`)), '>= 1')
  }
  for (let s = 0; s < SIZES; s++) {
    const used = columns.filter((column) => column.s === s).map((column) => `+ ${x(column)}`)
    const held = maximalPatterns.flatMap((pattern, p) => (pattern[s]! > 0 ? `- ${pattern[s]} y_${p}` : []))
    lines.push(`size_${s}:`, ...used, ...held, '<= 0')
  }
  lines.push('boards:', ...plus(patterns), `<= ${maxGpus}`)
  lines.push('known:', ...plus(objective === 'gpus' ? patterns : gpcs), `>= ${atLeast}`)
  lines.push('Generals', ...columns.map(x), ...patterns, 'End')
  return `${lines.join('\n')}\n`
}

/** One term a line: the solver's reader has a limit on the length of lines. */
function plus(terms: readonly string[]): string[] {
  return terms.map((term) => `+ ${term}`)
}

function giveStart(model: Model, columns: readonly { m: number; s: number }[], start: Int32Array): void {
  const indices = columns.map(({ m, s }) => model.getColByName(`x_${m}_${s}`))
  model.setSolution({ indices, values: columns.map(({ m, s }) => start[m * SIZES + s]!) })
}

function readCounts(
  model: Model,
  problem: CoverProblem,
  columns: readonly { m: number; s: number }[],
): Int32Array | null {
  const { colValue } = model.getSolution()
  if (!colValue || colValue.length === 0) return null
  const counts = new Int32Array(problem.services * SIZES)
  for (const { m, s } of columns) {
    counts[m * SIZES + s] = Math.round(colValue[model.getColByName(`x_${m}_${s}`)]!)
  }
  for (let m = 0; m < problem.services; m++) if (!isCovered(problem, m, counts, m * SIZES)) return null
  return counts
}
