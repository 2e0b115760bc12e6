import { type Configuration, smClocksAt, snapDown } from '@pctodl/platform'
import type { BoardPhysics } from './board-physics.js'
import { settledPower } from './board-power.js'
import { highestStateWithin } from './clock-within-power.js'
import type { Execution } from './execution.js'
import { regulatedLimitW } from './firmware-governor.js'
import { inHost, resolveBoard, type SimulatedBoard } from './resolve-board.js'
import { type SteadyState, SteadyStateSolver } from './steady-state.js'

export interface SimulatedSteadyState extends SteadyState {
  /** True mean power of the warm board, W. */
  readonly powerW: number
  readonly temperatureC: number
  /** SM clock under the power limit, MHz; the mean clock if the firmware alternates between two states. */
  readonly smClockMhz: number
  /** Name of the host. */
  readonly host: string
}

export interface SteadyStateOptions extends Execution {
  /** Default: the coefficients of the board. */
  readonly physics?: BoardPhysics
  /** Default: the board's default limit. */
  readonly powerLimitW?: number
}

/**
 * Returns a function that computes the true steady state of a configuration on a warm board under a power limit,
 * without simulating time. The function caches its results. For tests, reports and oracles.
 *
 * @throws UnknownNameError for a board that cannot be simulated
 */
export function simulateSteadyState(
  board: SimulatedBoard,
  { physics, powerLimitW, ...execution }: SteadyStateOptions = {},
): (configuration: Configuration) => SimulatedSteadyState {
  const resolved = resolveBoard(board, physics)
  const { spec } = resolved
  const solver = new SteadyStateSolver(spec, resolved.physics, inHost(execution, resolved))
  const limitW = regulatedLimitW(solver.physics.firmware, powerLimitW ?? spec.powerLimitW.default)
  return ({ tenants, smClockMhz, memClockMhz }) => {
    const settle = solver.prepare(tenants)
    const at = (clockMhz: number): SimulatedSteadyState => {
      const state = settle(clockMhz, memClockMhz)
      const { totalW, temperatureC } = settledPower(spec, solver.physics, state, clockMhz, memClockMhz)
      return { ...state, powerW: totalW, temperatureC, smClockMhz: clockMhz, host: solver.host.name }
    }
    const wanted = at(smClockMhz)
    if (wanted.powerW <= limitW) return wanted
    const states = smClocksAt(spec, memClockMhz)!
    const below = states.indexOf(snapDown(states, smClockMhz)!) - 1
    if (below < 0) return at(states[0]!)
    const index = Math.max(
      0,
      highestStateWithin(below, limitW, (state) => at(states[state]!).powerW),
    )
    const low = at(states[index]!)
    const above = states[index + 1]
    if (solver.physics.firmware.law === 'step' || above === undefined || low.powerW >= limitW) return low
    const high = index === below ? wanted : at(above)
    return high.powerW > limitW ? alternating(low, high, (limitW - low.powerW) / (high.powerW - low.powerW)) : low
  }
}

/** Mean of two states of the same tenants. `share` is the fraction of time in the second state, 0..1. */
function alternating(low: SimulatedSteadyState, high: SimulatedSteadyState, share: number): SimulatedSteadyState {
  const tenants = low.tenants.map((tenant, i) => meanOfNumbers(tenant, high.tenants[i]!, share))
  return { ...meanOfNumbers(low, high, share), tenants }
}

/** Weighted mean of each number of two objects. What is no number is taken from the first. */
function meanOfNumbers<T extends object>(low: T, high: T, share: number): T {
  const mean = ([key, a]: [string, unknown]) => {
    return [key, typeof a === 'number' ? a + share * ((high[key as keyof T] as number) - a) : a]
  }
  return Object.fromEntries(Object.entries(low).map(mean))
}
