import { type Configuration, findGpuSpec, type GpuSpec, smClocksAt, snapDown } from '@pctodl/platform'
import type { BoardPhysics } from './board-physics.js'
import { settledPower } from './board-power.js'
import { physicsOfBoard } from './physics-of-board.js'
import { type SteadyState, SteadyStateSolver } from './steady-state.js'

export interface SimulatedSteadyState extends SteadyState {
  /** True mean power once the board is warm, W. */
  readonly powerW: number
  readonly temperatureC: number
  /** The clock that remains after the power limit has had its say, MHz. */
  readonly smClockMhz: number
}

/**
 * The ground truth of configurations on a board, without running time: what they settle to once warm, under a power
 * limit. Returns a function that keeps what it has computed. For tests, reports and oracles.
 */
export function simulateSteadyState(
  board: string | GpuSpec,
  { physics, powerLimitW }: { readonly physics?: BoardPhysics; readonly powerLimitW?: number } = {},
): (configuration: Configuration) => SimulatedSteadyState {
  const spec = typeof board === 'string' ? findGpuSpec(board) : board
  const coefficients = physics ?? physicsOfBoard(spec)
  const solver = new SteadyStateSolver(spec, coefficients)
  const limitW = coefficients.firmware.limitFactor * (powerLimitW ?? spec.powerLimitW.default)
  const at = (configuration: Configuration): SimulatedSteadyState => {
    const state = solver.solve(configuration)
    const { smClockMhz, memClockMhz } = configuration
    const { totalW, temperatureC } = settledPower(spec, coefficients, state, smClockMhz, memClockMhz)
    return { ...state, powerW: totalW, temperatureC, smClockMhz }
  }
  return (configuration) => {
    const wanted = at(configuration)
    if (wanted.powerW <= limitW) return wanted
    const states = smClocksAt(spec, configuration.memClockMhz)!
    let low = 0
    let high = states.indexOf(snapDown(states, configuration.smClockMhz)!)
    let best = at({ ...configuration, smClockMhz: states[0]! })
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      const tried = at({ ...configuration, smClockMhz: states[middle]! })
      if (tried.powerW <= limitW) {
        low = middle
        best = tried
      } else high = middle
    }
    return best
  }
}
