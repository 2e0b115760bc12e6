import type { ClockAction } from '@pctodl/thermo-dvfs'
import type { Decision } from '../policy.js'

const statusReasons: Readonly<Record<ClockAction['status'], string>> = {
  tracking: 'the clock moves, or the estimate is uncertain',
  settled: 'the highest clock that holds the cap, unchanged for three seconds',
  infeasible: 'above the cap at the lowest clock',
  blind: 'no usable power reading',
}

/** Records when the board's estimated state changes, and when another meter disagrees. */
export class BoardWatch {
  #before: ClockAction | undefined

  step(now: ClockAction): Decision[] {
    const before = this.#before
    this.#before = now
    const decisions: Decision[] = []
    if (now.status !== before?.status) {
      const { status, smClockMhz } = now
      decisions.push({ kind: 'clock-status', reason: statusReasons[status], status, smClockMhz })
    }
    const { clock, sensor, correction } = now.seen
    if (clock !== before?.seen.clock || sensor !== before.seen.sensor) {
      const reason = `clock: ${clock}, sensor: ${sensor}`
      decisions.push({ kind: 'board-seen', reason, clock, sensor })
    }
    if (correction > 1 && !(before && before.seen.correction > 1)) {
      const percent = (100 * (correction - 1)).toFixed(1)
      const reason = `another power measurement is ${percent} % above the reading: the target is reduced accordingly`
      decisions.push({ kind: 'power-readings-disagree', reason, correction })
    }
    return decisions
  }
}
