import { type Configuration, findGpuSpec, type GpuSpec, smClocksAt, snapDown } from '@pctodl/platform'
import type { BoardPhysics } from './board-physics.js'
import { settledPower } from './board-power.js'
import { highestStateWithin } from './clock-within-power.js'
import type { Execution } from './execution.js'
import { physicsOfBoard } from './physics-of-board.js'
import { type SteadyState, SteadyStateSolver } from './steady-state.js'

export interface SimulatedSteadyState extends SteadyState {
  /** True mean power once the board is warm, W. */
  readonly powerW: number
  readonly temperatureC: number
  /** The clock that remains after the power limit has had its say, MHz. */
  readonly smClockMhz: number
}

export interface SteadyStateOptions extends Execution {
  /** Default: the coefficients of the board. */
  readonly physics?: BoardPhysics
  /** Default: the board's default limit. */
  readonly powerLimitW?: number
}

/**
 * The ground truth of configurations on a board, without running time: what they settle to once warm, under a power
 * limit. Returns a function that keeps what it has computed. For tests, reports and oracles.
 *
 * @throws UnknownNameError for a board that cannot be simulated
 */
export function simulateSteadyState(
  board: string | GpuSpec,
  { physics, powerLimitW, ...execution }: SteadyStateOptions = {},
): (configuration: Configuration) => SimulatedSteadyState {
  const spec = typeof board === 'string' ? findGpuSpec(board) : board
  const solver = new SteadyStateSolver(spec, physics ?? physicsOfBoard(spec), execution)
  const limitW = solver.physics.firmware.limitFactor * (powerLimitW ?? spec.powerLimitW.default)
  return ({ tenants, smClockMhz, memClockMhz }) => {
    const settle = solver.prepare(tenants)
    const at = (clockMhz: number): SimulatedSteadyState => {
      const state = settle(clockMhz, memClockMhz)
      const { totalW, temperatureC } = settledPower(spec, solver.physics, state, clockMhz, memClockMhz)
      return { ...state, powerW: totalW, temperatureC, smClockMhz: clockMhz }
    }
    const wanted = at(smClockMhz)
    if (wanted.powerW <= limitW) return wanted
    const states = smClocksAt(spec, memClockMhz)!
    const below = states.indexOf(snapDown(states, smClockMhz)!) - 1
    if (below < 0) return at(states[0]!)
    return at(
      states[
        Math.max(
          0,
          highestStateWithin(below, limitW, (index) => at(states[index]!).powerW),
        )
      ]!,
    )
  }
}
