import type { BudgetedJob, Intended } from './budgeted-job.js'
import type { MixedServerKind } from './mixed-cluster.js'
import type { MixedSeats } from './mixed-seats.js'
import type { LimitWay, SeatOption } from './seat-option.js'

export interface SeatQuestion {
  readonly servers: readonly MixedServerKind[]
  readonly seats: MixedSeats
  /** What a watt gains elsewhere. */
  readonly price: number
  /** Of the job's least way at most, above idle, W. */
  readonly mostWatts: number
  /** Whether more GPUs are wanted than are free: then small parts of GPUs are worth more. */
  readonly isScarce: boolean
  /** Whether a limit may be used now. */
  readonly isAllowed: (way: LimitWay) => boolean
  /** Whether a job may look at a server. */
  readonly isOpen: (server: number) => boolean
  readonly weightOf: (job: BudgetedJob) => number
}

/** Differences below are none. */
const ALIKE = 1e-9

/**
 * The place on which a job gains most when each watt costs `price`. It takes no core and no memory of which GPUs that stay free would
 * have less than their share, unless it cannot run otherwise. Of equal places the one with the fewest free GPUs.
 *
 * @returns null where it finds no room
 */
export function chooseSeat(job: BudgetedJob, question: SeatQuestion): Intended | null {
  return bestSeat(job, question, true) ?? bestSeat(job, question, false)
}

/** The most that an option gains when each watt costs `price`; -Infinity where no limit may be used. */
export function worthOf(job: BudgetedJob, { ways }: SeatOption, question: SeatQuestion): number {
  const { price, mostWatts, isAllowed, weightOf } = question
  const { gpus } = job.job
  let worth = Number.NEGATIVE_INFINITY
  let isAffordable = false
  for (const way of ways) {
    if (!isAllowed(way)) continue
    if (gpus * way.dynamicPowerW <= mostWatts) isAffordable = true
    worth = Math.max(worth, (weightOf(job) * way.iterationsPerS) / job.fastest - price * gpus * way.dynamicPowerW)
  }
  return isAffordable ? worth : Number.NEGATIVE_INFINITY
}

function bestSeat(job: BudgetedJob, question: SeatQuestion, leavesShares: boolean): Intended | null {
  const { servers, seats, isOpen } = question
  let best: { readonly place: Intended; readonly worth: number; readonly free: number } | null = null
  servers.forEach((kind, server) => {
    if (!isOpen(server)) return
    const options = (job.byType.get(kind.gpuType) ?? []).filter((option) => {
      const size = { gpus: job.job.gpus, ...option }
      return seats.fits(server, size) && (!leavesShares || leavesOthersTheirShare(kind, server, seats, size))
    })
    const option = bestOption(job, options, question)
    if (option === null) return
    const worth = worthOf(job, option, question)
    const free = seats.freeGpus(server)
    if (best === null || worth > best.worth + ALIKE || (worth > best.worth - ALIKE && free < best.free)) {
      best = { place: { server, option }, worth, free }
    }
  })
  return (best as { readonly place: Intended } | null)?.place ?? null
}

/** Where GPUs are scarce, what gains most for each part of a GPU. */
function bestOption(job: BudgetedJob, options: readonly SeatOption[], question: SeatQuestion): SeatOption | null {
  let best: SeatOption | null = null
  let bestScore = Number.NEGATIVE_INFINITY
  for (const option of options) {
    const worth = worthOf(job, option, question)
    const score = question.isScarce && worth > 0 ? (worth * 100) / option.sharePercent : worth
    if (score > bestScore + ALIKE) {
      best = option
      bestScore = score
    }
  }
  return best
}

function leavesOthersTheirShare(
  kind: MixedServerKind,
  server: number,
  seats: MixedSeats,
  { gpus, sharePercent, cpus, memoryGb }: { gpus: number; sharePercent: number; cpus: number; memoryGb: number },
): boolean {
  const othersPart = (seats.freeGpus(server) - (gpus * sharePercent) / 100) / kind.gpus
  return (
    seats.freeCpus(server) - gpus * cpus >= kind.cpus * (othersPart - ALIKE) &&
    seats.freeMemoryGb(server) - gpus * memoryGb >= kind.memoryGb * (othersPart - ALIKE)
  )
}
