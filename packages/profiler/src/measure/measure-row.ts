import { type GpuLease, isStalled, type TenantCounters } from '@pctodl/platform'
import type { MeasureOptions, PlannedRow } from '../plan/profile-plan.js'
import { meanOf, type Observation, powerOf, slowestBatchMs } from './observation.js'
import { type Measurements, nothingMeasured, type ProfileRow } from './profile-row.js'
import type { ProfiledBoard } from './profiled-board.js'
import { intrusionOf, provenanceOf, untoldOf } from './provenance.js'
import { doubtOf, failureOf, isThermallySlowed, type RowFailure, statusOf } from './row-status.js'
import { isSettled, settleStretchMs } from './settle.js'
import { windowErrors } from './standard-error.js'
import { summarizeWindow } from './summarize-window.js'

/** If the board is closer to its temperature limit than this before a row, it rests, K. */
const HOT_MARGIN_K = 3
/** A resting board rests until it is this far below its temperature limit, K, but at most COOL_MAX_MS. */
const COOL_MARGIN_K = 15
const COOL_MAX_MS = 180_000
/** Number of batches of another size after which their end is no longer awaited: a worker may ignore its size. */
const OTHER_BATCHES = 50
/** Upper bound of the settling time and of the measuring window, ms, however slow the batches are. */
const LONGEST_MS = 120_000

export interface RowContext {
  readonly board: ProfiledBoard
  /** Lease on the board; null if no settings may be changed. No row then requests a clock. */
  readonly lease: GpuLease | null
  readonly options: MeasureOptions
  readonly signal?: AbortSignal | undefined
}

/**
 * Measures one planned row: lets a hot board cool down, applies the configuration, waits until power and throughput are
 * stationary, and measures.
 */
export async function measureRow(context: RowContext, planned: PlannedRow, row: number): Promise<ProfileRow> {
  const startedAt = context.board.clock.date().toISOString()
  const coolDownMs = await coolDown(context)
  await applyRow(context, planned)
  const outcome = await measureApplied(context, planned)
  return {
    row,
    sweep: planned.sweep,
    repeat: planned.repeat,
    tenants: planned.tenants,
    targetSmClockMhz: planned.smClockMhz,
    coolDownMs,
    startedAt,
    ...outcome,
  }
}

/** Sets the clocks and starts the processes that a row needs. */
async function applyRow({ board, lease, signal }: RowContext, planned: PlannedRow): Promise<void> {
  if (lease) {
    await (planned.memClockMhz === null ? lease.resetMemClock() : lease.lockMemClock(planned.memClockMhz))
    await (planned.smClockMhz === null ? lease.resetSmClock() : lease.lockSmClock(planned.smClockMhz))
  }
  if (planned.tenants.length === 0) await board.tenants.stop()
  else await board.tenants.apply(planned.tenants, signal ? { signal } : {})
}

type Outcome = Measurements &
  Pick<ProfileRow, 'memClockMhz' | 'status' | 'message' | 'failed' | 'settleMs' | 'windowMs'>

async function measureApplied(context: RowContext, planned: PlannedRow): Promise<Outcome> {
  const { board, options, signal } = context
  const atStart = board.tenants.counters()
  const settling: Observation[] = []
  const window: Observation[] = []
  const outcome = ({ status, message }: RowFailure, measured: Partial<Measurements> = {}): Outcome => {
    const failed = measured.throughput === undefined
    const last = window.at(-1) ?? settling.at(-1)
    // Reading a real board's sensors takes milliseconds, so the window is longer than its pauses.
    const windowMs = last && window.length > 0 ? last.telemetry.timeMs - settling.at(-1)!.telemetry.timeMs : 0
    const memClockMhz = failed
      ? (last?.telemetry.memClockMhz ?? board.gpu.spec.performanceMemClocksMhz[0]!)
      : meanOf(window, ({ telemetry }) => telemetry.memClockMhz)
    return {
      ...nothingMeasured,
      ...measured,
      memClockMhz: planned.memClockMhz ?? memClockMhz,
      status,
      message,
      failed,
      settleMs: settling.length * options.sampleMs,
      windowMs: Math.round(windowMs),
    }
  }
  /** Observes until `isOver`, or until a tenant fails: then it returns the failure. */
  const watch = async (into: Observation[], isOver: () => boolean): Promise<RowFailure | undefined> => {
    for (;;) {
      const observation = await observe(context)
      into.push(observation)
      const failure = failureOf(observation.counters, atStart)
      if (failure !== undefined || isOver()) return failure
    }
  }

  const beforeAll = failureOf(atStart)
  if (beforeAll) return outcome(beforeAll)

  // A real worker may prepare for another batch size.
  const isAwaited = (counters: TenantCounters, i: number) =>
    counters.lastBatchSize !== counters.tenant.batchSize &&
    counters.state === 'running' &&
    counters.batches < atStart[i]!.batches + OTHER_BATCHES &&
    !isStalled(counters, board.clock.now())
  while (board.livesInProcess !== true && board.tenants.counters().some(isAwaited)) {
    await board.clock.sleep(options.sampleMs, signal)
  }

  let settled = false
  const failure =
    (await watch(settling, () => {
      settled = isSettled(settling, options)
      const neededMs = 1.5 * settleStretchMs(settling.at(-1)!, options)
      return settled || settling.length * options.sampleMs >= limitOf(options.settleMaxMs, neededMs)
    })) ?? (await watch(window, () => isLongEnough(settling.at(-1)!, window, options)))
  if (failure) return outcome(failure)

  const start = settling.at(-1)!
  const unread = window.filter((observation) => powerOf(observation) === null).length
  if (2 * unread > window.length) {
    const message = `power could not be read in ${unread} of ${window.length} readings`
    return outcome({ status: 'no-telemetry', message })
  }
  const provenance = provenanceOf(start, window)
  const doubt = intrusionOf([start, ...window]) ?? doubtOf(start, window)
  if (doubt) return outcome(doubt, provenance)
  // If the driver did not confirm which processes were on the board, nothing contradicts the measurement, so its
  // values are kept.
  const status = untoldOf([start, ...window]) ?? { status: statusOf(settled, window), message: '' }
  return outcome(status, { ...summarizeWindow(start, window, options.sampleMs), ...provenance })
}

async function observe({ board, options, signal }: RowContext): Promise<Observation> {
  await board.clock.sleep(options.sampleMs, signal)
  const telemetry = await board.gpu.sample()
  const occupancy = board.occupancy?.()
  return { telemetry, counters: board.tenants.counters(), ...(occupancy ? { occupancy } : {}) }
}

function isLongEnough(start: Observation, window: readonly Observation[], options: MeasureOptions): boolean {
  const windowMs = window.length * options.sampleMs
  if (windowMs < options.windowMinMs) return false
  const last = window.at(-1)!
  if (windowMs >= limitOf(options.windowMaxMs, (options.minBatches + 1) * slowestBatchMs(last))) return true
  const enough = last.counters.every((c, i) => c.batches - start.counters[i]!.batches >= options.minBatches)
  if (!enough) return false
  const { powerPercent, throughputPercent } = windowErrors(start, window, options.sampleMs)
  const isSmall = (percent: number) => percent <= options.standardErrorPercent
  return isSmall(powerPercent) && (last.counters.length === 0 || isSmall(throughputPercent))
}

/** A time limit, ms: maxMs, or the time that slow batches need if it is longer, up to 120 s. */
function limitOf(maxMs: number, neededMs: number): number {
  return Math.max(maxMs, Math.min(LONGEST_MS, neededMs))
}

/**
 * Waits until the board is cool enough for the next row.
 *
 * @returns how long it waited, ms
 */
async function coolDown({ board, options, signal }: RowContext): Promise<number> {
  const { thermalLimitC } = board.gpu.spec
  const first = await board.gpu.sample()
  const hot = isThermallySlowed(first) || (first.temperatureC ?? 0) > thermalLimitC - HOT_MARGIN_K
  if (!hot) return 0
  await board.tenants.stop()
  let waitedMs = 0
  while (waitedMs < COOL_MAX_MS) {
    await board.clock.sleep(options.sampleMs, signal)
    waitedMs += options.sampleMs
    const reading = await board.gpu.sample()
    const { temperatureC } = reading
    if (!isThermallySlowed(reading) && temperatureC !== null && temperatureC <= thermalLimitC - COOL_MARGIN_K) break
  }
  return waitedMs
}
