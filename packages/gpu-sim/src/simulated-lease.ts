import { type GpuLease, type GpuSpec, InvalidInputError, PctodlError, smClocksAt } from '@pctodl/platform'
import type { BoardSettings } from './board-settings.js'
import type { Setter } from './fault-scenario.js'

export interface LeasedBoard {
  readonly spec: GpuSpec
  readonly settings: BoardSettings
  /**
   * Advances the board to the present and requests a change of a setting. The firmware applies clocks with a delay.
   *
   * @throws PctodlError `GPU_LOST`, `NO_PERMISSION`, `NOT_SUPPORTED`
   */
  change(setter: Setter, apply: () => void): void
  /** Restores the settings that the board had when the lease was taken, and releases the board. */
  endLease(): void
}

/** The lease on a simulated board. It checks requests as the driver would, then passes them to the board. */
export function simulatedLease(board: LeasedBoard): GpuLease {
  const { spec, settings } = board
  let held = true
  const holding = () => {
    if (!held) throw new PctodlError('LEASE_RELEASED', `the lease on ${spec.name} was released; acquire a new one`)
  }
  return {
    lockSmClock: async (clock) => {
      holding()
      const range = typeof clock === 'number' ? { minMhz: clock, maxMhz: clock } : clock
      const memClockMhz = settings.memLockMhz ?? spec.performanceMemClocksMhz[0]!
      assertSmClock(spec, memClockMhz, range.minMhz)
      assertSmClock(spec, memClockMhz, range.maxMhz)
      if (range.minMhz > range.maxMhz) {
        throw new InvalidInputError('smClock range', range, 'minMhz of at most maxMhz')
      }
      board.change('sm-clock', () => settings.lockSm(range))
    },
    resetSmClock: async () => {
      holding()
      board.change('sm-clock', () => settings.lockSm(null))
    },
    lockMemClock: async (memClockMhz) => {
      holding()
      if (!smClocksAt(spec, memClockMhz)) {
        const states = spec.clockStates.map((state) => state.memClockMhz)
        throw new InvalidInputError('memClockMhz', memClockMhz, `one of ${states.join(', ')} on ${spec.name}`)
      }
      board.change('mem-clock', () => {
        settings.memLockMhz = memClockMhz
      })
    },
    resetMemClock: async () => {
      holding()
      board.change('mem-clock', () => {
        settings.memLockMhz = null
      })
    },
    setPowerLimit: async (powerLimitW) => {
      holding()
      const { min, max } = spec.powerLimitW
      if (!(powerLimitW >= min && powerLimitW <= max)) {
        throw new InvalidInputError('powerLimitW', powerLimitW, `a limit of ${min} to ${max} W on ${spec.name}`)
      }
      board.change('power-limit', () => {
        settings.powerLimitW = powerLimitW
      })
    },
    resetPowerLimit: async () => {
      holding()
      board.change('power-limit', () => {
        settings.powerLimitW = spec.powerLimitW.default
      })
    },
    release: async () => {
      if (!held) return
      held = false
      board.endLease()
    },
  }
}

function assertSmClock(spec: GpuSpec, memClockMhz: number, smClockMhz: number): void {
  const states = smClocksAt(spec, memClockMhz)!
  if (states.includes(smClockMhz)) return
  const step = Math.max(...states.slice(1).map((state, i) => state - states[i]!))
  throw new InvalidInputError(
    'smClockMhz',
    smClockMhz,
    `a supported state of ${spec.name}, ${states[0]} to ${states.at(-1)} MHz in steps of ${step}`,
  )
}
