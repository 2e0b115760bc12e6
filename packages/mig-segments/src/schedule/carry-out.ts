import type { SegmentSize } from '@pctodl/mig-deploy'
import type { ServiceProfile } from '../profile.js'
import { changesTo, PointChoice } from '../replan/changes.js'
import { gpusOf, layoutBeside, layoutFor } from '../replan/layout-for.js'
import { type Changes, type MigrationStep, migrationOrder } from '../replan/migration.js'
import { type Layout, usedGpus } from '../replan/pack-beside.js'
import { type PlannedGpu, plannedAt } from '../segment-plan.js'
import { fewestGpus } from '../solve/fewest-gpus.js'
import { packSegments } from '../solve/pack-boards.js'
import type { DayProblem } from './day-problem.js'
import { creationJ, periodEnergyJ, totalOf } from './window-plans.js'

/** A period of a schedule: its map, and the way there from the period before. */
export interface PlannedPeriod {
  readonly gpus: readonly PlannedGpu[]
  /** In an order that keeps services up: creations end before the period begins, removals come after that. */
  readonly steps: readonly MigrationStep[]
  /** Energy of the period and of the way to it, above all boards parked, J. */
  readonly energyJ: number
  /** Requests that the segments on the way could not answer in time, at most. */
  readonly lateRequests: number
}

export interface CarryOutOptions {
  readonly profiles: readonly ServiceProfile[]
  readonly latencyShare: number | undefined
  /** GPUs that there are; infinite: as many as needed. */
  readonly maxGpus: number
  /** What a request that a change makes late counts, J; infinite: none is late where it can be helped. */
  readonly lateJ: number
  /** `few`: as few segments created as can be; `anew`: each map packed as if there were none before. */
  readonly moves: 'few' | 'anew'
}

/**
 * Maps for the segments of each period, each made of the one before. Of some ways to place what is created the one is taken that takes the
 * least energy, what is late counted in, or, where that is priceless, of those that keep every service at its rate all the time.
 *
 * @param counts by period, then by service and size
 */
export function carryOut(
  problem: DayProblem,
  counts: readonly Int32Array[],
  options: CarryOutOptions,
): PlannedPeriod[] {
  const first = freshMap(problem, counts[0]!)
  const periods: PlannedPeriod[] = [
    { gpus: first, steps: [], energyJ: periodEnergyJ(problem, 0, counts[0]!, first.length), lateRequests: 0 },
  ]
  for (let h = 1; h < counts.length; h++) periods.push(nextPeriod(problem, counts, h, periods[h - 1]!.gpus, options))
  return periods
}

function freshMap({ served }: DayProblem, counts: Int32Array): PlannedGpu[] {
  return packSegments(counts, (m, size: SegmentSize) =>
    plannedAt(served[m]!.objective.model, served[m]!.best.get(size)!),
  )
}

function nextPeriod(
  problem: DayProblem,
  counts: readonly Int32Array[],
  h: number,
  current: readonly PlannedGpu[],
  { profiles, latencyShare, maxGpus, lateJ, moves }: CarryOutOptions,
): PlannedPeriod {
  const { served } = problem
  const target = counts[h]!
  const points = new PointChoice(profiles, served, latencyShare)
  const fewest = fewestGpus(totalOf(target))
  const layouts: Layout[] =
    moves === 'anew'
      ? [asLayout(freshMap(problem, target))]
      : [
          ...fewAndMore(fewest, current.length).map((most) => layoutFor(current, served, target, most)),
          layoutBeside(current, served, target),
        ]
  const allowed = layouts.filter((layout) => usedGpus(layout) <= maxGpus)
  // Where none is, the caller sees it by the number of GPUs.
  const candidates = (allowed.length > 0 ? allowed : layouts).map((layout) => {
    const changes = changesTo(layout, current, points)
    return { changes, ...theWay(problem, counts, h, changes, current.length) }
  })
  type Way = (typeof candidates)[number]
  const worse = (a: Way, b: Way) =>
    lateJ === Number.POSITIVE_INFINITY
      ? a.lateRequests - b.lateRequests || a.energyJ - b.energyJ
      : a.energyJ + lateJ * a.lateRequests - b.energyJ - lateJ * b.lateRequests
  const best = candidates.reduce((a, b) => (worse(b, a) < 0 ? b : a))
  const { kept, restarted, created } = best.changes
  const gpus = gpusOf([...kept, ...restarted.map(({ after }) => after), ...created])
  return { gpus, steps: best.steps, energyJ: best.energyJ, lateRequests: best.lateRequests }
}

/** Numbers of GPUs that are tried: from the fewest to what is in use, at most so many. */
function fewAndMore(fewest: number, inUse: number): number[] {
  const most = Math.max(fewest + 1, inUse)
  const step = Math.max(1, Math.ceil((most - fewest) / MOST_TRIED))
  return [...Array.from({ length: Math.ceil((most - fewest) / step) }, (_, i) => fewest + i * step), most]
}

const MOST_TRIED = 8

function asLayout(gpus: readonly PlannedGpu[]): Layout {
  return new Map(
    gpus.map(({ index, segments }) => [
      index,
      segments.map(({ model, sizeGpcs, start }) => ({ model, sizeGpcs, start })),
    ]),
  )
}

/** What a period and the way to it take. */
function theWay(problem: DayProblem, counts: readonly Int32Array[], h: number, changes: Changes, boardsBefore: number) {
  const { served, needs, migrationS, idleW, parkedW } = problem
  const now = new Map<string, number>()
  for (const { segment } of [...changes.kept, ...changes.restarted.map(({ before }) => before), ...changes.removed]) {
    now.set(segment.model, (now.get(segment.model) ?? 0) + segment.throughput)
  }
  // While segments change, both what is needed before and what is after must be there, as far as there is anything yet.
  const needed = new Map(
    served.map(({ objective: { model } }, m) => {
      const needIn = (period: number) => needs[period * served.length + m]!
      return [model, Math.min(Math.max(needIn(h - 1), needIn(h)), now.get(model) ?? 0)]
    }),
  )
  const ordered = migrationOrder(changes, needed)
  // What goes at the end goes when the rate before is over.
  const lastCreated = ordered.findLastIndex(({ kind }) => kind === 'create')
  const steps = ordered.map(
    ({ shortfall, ...step }, i): MigrationStep => (shortfall && i < lastCreated ? { ...step, shortfall } : step),
  )
  const after = new Set(
    [...changes.kept, ...changes.restarted.map((each) => each.after), ...changes.created].map(({ gpu }) => gpu),
  )
  const both = new Set([...after, ...changes.removed.map(({ gpu }) => gpu)])
  const perBoard = new Map<number, number>()
  for (const { gpu } of changes.created) perBoard.set(gpu, (perBoard.get(gpu) ?? 0) + 1)
  const wayS = migrationS * Math.max(0, ...perBoard.values())
  const moved = changes.created.reduce((sum, { segment }) => sum + (segment.powerW ?? 0), 0) * migrationS
  const least = creationJ(problem, counts[h - 1]!, counts[h]!)
  return {
    steps,
    energyJ:
      periodEnergyJ(problem, h, counts[h]!, after.size) +
      Math.max(moved, least) +
      Math.max(0, both.size - boardsBefore) * (idleW - parkedW) * wayS,
    lateRequests: missed(steps, now, needed, migrationS),
  }
}

/** Requests that are not answered while one segment after the other is created; removing takes no time. */
function missed(
  steps: readonly MigrationStep[],
  now: ReadonlyMap<string, number>,
  needed: ReadonlyMap<string, number>,
  migrationS: number,
): number {
  const capacity = new Map(now)
  let late = 0
  for (const { kind, segment } of steps) {
    if (kind !== 'remove') {
      for (const [model, least] of needed) {
        const short = least - (capacity.get(model) ?? 0)
        if (short > 1e-9 * least) late += short * migrationS
      }
    }
    const change = kind === 'create' ? segment.throughput : kind === 'remove' ? -segment.throughput : 0
    capacity.set(segment.model, (capacity.get(segment.model) ?? 0) + change)
  }
  return late
}
