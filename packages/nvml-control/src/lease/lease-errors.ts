import { PctodlError } from '@pctodl/platform'
import { type BoardChange, describeChange } from '../control/board-change.js'
import { programNameOf } from './process-identity.js'

export class LeaseHeldError extends PctodlError {
  constructor(
    subject: string,
    /** Pid of the process that holds the lease; null if it is not visible, for example in another pid namespace. */
    readonly pid: number | null,
  ) {
    super('LEASE_HELD', `${subject} is leased by ${holderText(pid)}; wait for it, or end it (it puts the board back)`)
  }
}

/** The driver accepted a change, but readings of the board do not show it. */
export class SetterNotAppliedError extends PctodlError {
  constructor(subject: string, change: BoardChange, observed: string, waitedMs: number) {
    const what = `${subject}: ${describeChange(change)} was accepted, but ${waitedMs} ms later the board shows ${observed}`
    const why = 'something else sets it too (another tool, a management daemon), or this board ignores it'
    super('SETTER_NOT_APPLIED', `${what}; ${why}`)
  }
}

export function leaseReleased(subject: string): PctodlError {
  return new PctodlError('LEASE_RELEASED', `the lease on ${subject} was released; acquire a new one`)
}

function holderText(pid: number | null): string {
  if (pid === null) return 'another process'
  if (pid === process.pid) return `this very process (${pid})`
  const program = programNameOf(pid)
  return program === null ? `process ${pid}` : `process ${pid} (${program})`
}
