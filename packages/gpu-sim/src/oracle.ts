import {
  type Configuration,
  type GpuSpec,
  InfeasibleCapError,
  InvalidInputError,
  MAX_MPS_CLIENTS,
  smClocksAt,
  type Tenant,
} from '@pctodl/platform'
import type { BoardPhysics } from './board-physics.js'
import { settledPower } from './board-power.js'
import { highestStateWithin } from './clock-within-power.js'
import { type Execution, elementBytes } from './execution.js'
import { regulatedLimitW } from './firmware-governor.js'
import { networksOf, networkWork } from './network-work.js'
import { runningBytes } from './process-memory.js'
import { inHost, resolveBoard, type SimulatedBoard } from './resolve-board.js'
import { neighbours, type Slot, shareMultisets } from './slots.js'
import { SteadyStateSolver } from './steady-state.js'

export interface OracleOptions extends Execution {
  /** Step of the shares in the exhaustive search, percent; a divisor of 100. Default 10. */
  readonly sharePercentStep?: number
  /**
   * Step of the shares to which the best configurations are refined, percent; a divisor of `sharePercentStep`. Default:
   * `sharePercentStep`, no refinement.
   */
  readonly finestSharePercentStep?: number
  /**
   * Whether the board keeps the cap by its own power limit, under which it alternates between two clock states. Default
   * false: one locked clock.
   */
  readonly betweenClocks?: boolean
  /** Batch sizes to try. Default 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256. */
  readonly batchSizes?: readonly number[]
  /** Memory clocks to try. Default: all of the board's clocks, except those of idle states. */
  readonly memClocksMhz?: readonly number[]
  /**
   * Number of configurations from which the search over mixed batch sizes starts: the best of those with one common
   * batch size. Default 100.
   */
  readonly starts?: number
  /** Default: the coefficients of the board. */
  readonly physics?: BoardPhysics
}

export interface Oracle {
  readonly configuration: Configuration
  /**
   * True throughput, samples/s; with `betweenClocks`, the mean while alternating between the configuration's clock and
   * the next higher state.
   */
  readonly throughput: number
  /** True mean power in thermal equilibrium, W. It is within the cap. */
  readonly powerW: number
  /** Number of steady states that the search computed. */
  readonly evaluations: number
}

type Settle = ReturnType<SteadyStateSolver['prepare']>

interface Found {
  readonly slots: readonly Slot[]
  readonly throughput: number
  readonly powerW: number
  readonly smClockMhz: number
  readonly memClockMhz: number
}

const defaultBatchSizes = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256]

/**
 * Finds the best static configuration of one network under a power cap by searching on the simulated board itself. The
 * result is an upper bound for policies, for tests and reports only: a policy that uses it is cheating.
 *
 * Every multiset of shares is tried with every batch size, the same for all tenants. The best configurations are then
 * improved by changing shares and batch sizes of single tenants until no change helps. For each set of tenants, the
 * highest clock state within the cap is found. It is the best one, because throughput rises with the clock (within 0.01
 * % for mixed batch sizes).
 *
 * @throws InfeasibleCapError if no configuration keeps the cap
 * @throws InvalidInputError, UnknownNameError
 */
export function findOracle(
  board: SimulatedBoard,
  model: string,
  powerCapW: number,
  options: OracleOptions = {},
): Oracle {
  const resolved = resolveBoard(board, options.physics)
  const { spec } = resolved
  const {
    sharePercentStep = 10,
    finestSharePercentStep: step = sharePercentStep,
    betweenClocks = false,
    batchSizes: given = defaultBatchSizes,
    memClocksMhz = spec.performanceMemClocksMhz,
    starts = 100,
    physics: _,
    ...execution
  } = inHost(options, resolved)
  assertOptions(spec, powerCapW, sharePercentStep, given, memClocksMhz)
  /** Number of the smallest steps of a share per step of the exhaustive search. */
  const coarse = sharePercentStep / step
  if (!(step > 0 && Number.isInteger(coarse))) {
    throw new InvalidInputError('finestSharePercentStep', step, `a divisor of sharePercentStep, ${sharePercentStep}`)
  }
  const network = networkWork(model, networksOf(execution.networks))
  const batchSizes = [...given].sort((a, b) => a - b)
  const solver = new SteadyStateSolver(spec, resolved.physics, execution)
  const limitW = Math.min(powerCapW, regulatedLimitW(solver.physics.firmware, spec.powerLimitW.default))
  const bytesOfBatch = batchSizes.map((batchSize) =>
    runningBytes(solver.physics.process, network, batchSize, elementBytes(execution)),
  )
  const seen = new Map<string, Found | null>()
  /** Index of the highest clock found within the cap, by memory clock. The next search starts there. */
  const lastIndex = new Map<number, number>()
  let evaluations = 0
  let lowestW = Number.POSITIVE_INFINITY
  const alike: Found[] = []
  for (const shares of shareMultisets(100 / sharePercentStep, MAX_MPS_CLIENTS)) {
    for (let batch = 0; batch < batchSizes.length; batch++) {
      const found = evaluate(shares.map((units) => ({ units: units * coarse, batch })))
      if (found) alike.push(found)
    }
  }
  alike.sort((a, b) => b.throughput - a.throughput)
  let best = alike[0]
  if (!best) throw new InfeasibleCapError(powerCapW, lowestW, `${network.name} on ${spec.name}`)
  for (const start of alike.slice(0, starts)) {
    const improved = climb(start)
    if (improved.throughput > best.throughput) best = improved
  }
  return {
    configuration: { tenants: tenants(best.slots), smClockMhz: best.smClockMhz, memClockMhz: best.memClockMhz },
    throughput: best.throughput,
    powerW: best.powerW,
    evaluations,
  }

  /** Moves to the best neighbouring configuration until none is better. */
  function climb(start: Found): Found {
    let here = start
    for (;;) {
      let best = here
      for (const slots of neighbours(here.slots, 100 / step, batchSizes.length, MAX_MPS_CLIENTS)) {
        const found = evaluate(slots, best.throughput)
        if (found && found.throughput > best.throughput) best = found
      }
      if (best === here) return here
      here = best
    }
  }

  /**
   * Returns the best clocks for these tenants; null if the tenants do not fit in memory, exceed the cap at every clock,
   * or cannot reach `atLeast` samples/s.
   */
  function evaluate(slots: readonly Slot[], atLeast = 0): Found | null {
    const key = slots.map(({ units, batch }) => units * 64 + batch).join()
    const known = seen.get(key)
    if (known !== undefined) return known
    if (!fits(slots)) {
      seen.set(key, null)
      return null
    }
    const settle = solver.prepare(tenants(slots))
    let best: Found | null = null
    for (const memClockMhz of memClocksMhz) {
      const found = bestClock(slots, settle, memClockMhz, Math.max(atLeast, best?.throughput ?? 0))
      if (found) best = found
    }
    seen.set(key, best)
    return best
  }

  /** The highest SM clock within the cap; null if there is none, or if its throughput is at most `atLeast`. */
  function bestClock(slots: readonly Slot[], settle: Settle, memClockMhz: number, atLeast: number): Found | null {
    const clocks = smClocksAt(spec, memClockMhz)!
    const tried = new Map<number, Found>()
    const powerAt = (index: number) => {
      const known = tried.get(index)
      if (known) return known.powerW
      evaluations++
      const smClockMhz = clocks[index]!
      const state = settle(smClockMhz, memClockMhz)
      const powerW = settledPower(spec, solver.physics, state, smClockMhz, memClockMhz).totalW
      tried.set(index, { slots, throughput: state.throughput, powerW, smClockMhz, memClockMhz })
      lowestW = Math.min(lowestW, powerW)
      return powerW
    }
    const top = clocks.findLastIndex((mhz) => mhz <= spec.boostClockMhz)
    const topW = powerAt(top)
    if (tried.get(top)!.throughput <= atLeast) return null
    // Starts at the solution of the last call. Most candidates already draw too much power at that clock, yet have too
    // little throughput, and can be rejected at once.
    const near = Math.min(top, lastIndex.get(memClockMhz) ?? top)
    const isAbove = powerAt(near) > limitW
    if (isAbove && tried.get(near)!.throughput <= atLeast) return null
    const index = topW <= limitW ? top : highestStateWithin(isAbove ? near : top, limitW, powerAt, isAbove ? 0 : near)
    const locked = tried.get(index)
    if (locked === undefined) return null
    lastIndex.set(memClockMhz, index)
    let found = locked
    if (betweenClocks && index < top) {
      // The board alternates between this clock and the next one, so that mean power equals the limit.
      const share = (limitW - locked.powerW) / (powerAt(index + 1) - locked.powerW)
      const throughput = locked.throughput + share * (tried.get(index + 1)!.throughput - locked.throughput)
      found = { ...locked, throughput, powerW: limitW }
    }
    return found.throughput > atLeast ? found : null
  }

  function fits(slots: readonly Slot[]): boolean {
    const { reservedBytes } = solver.physics.process
    const bytes = slots.reduce((sum, { batch }) => sum + bytesOfBatch[batch]!, reservedBytes)
    return bytes <= spec.memoryBytes
  }

  function tenants(slots: readonly Slot[]): Tenant[] {
    return slots.map(({ units, batch }) => ({
      model: network.name,
      mpsPercent: units * step,
      batchSize: batchSizes[batch]!,
    }))
  }
}

function assertOptions(
  spec: GpuSpec,
  powerCapW: number,
  step: number,
  batchSizes: readonly number[],
  memClocksMhz: readonly number[],
): void {
  if (!(powerCapW > 0)) throw new InvalidInputError('powerCapW', powerCapW, 'a positive number of watts')
  if (!(step > 0 && Number.isInteger(100 / step))) {
    throw new InvalidInputError('sharePercentStep', step, 'a divisor of 100')
  }
  if (batchSizes.length === 0 || batchSizes.length > 64 || batchSizes.some((b) => !Number.isInteger(b) || b < 1)) {
    throw new InvalidInputError('batchSizes', batchSizes, '1 to 64 integers of at least 1')
  }
  for (const memClockMhz of memClocksMhz) {
    if (!smClocksAt(spec, memClockMhz)) {
      const known = spec.clockStates.map((state) => state.memClockMhz)
      throw new InvalidInputError('memClocksMhz', memClockMhz, `memory clocks of ${spec.name}: ${known.join(', ')}`)
    }
  }
}
