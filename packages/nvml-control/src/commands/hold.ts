import { type Terminal, UsageError } from '@pctodl/command-line'
import { type ClockRange, describeRange } from '../control/board-change.js'
import type { BoardLease } from '../lease/board-lease.js'
import { withLease } from '../nvml-gpu.js'
import { type ChangeOptions, openOne, printJson } from './open-boards.js'
import { runChild } from './run-child.js'
import { untilAborted } from './until-aborted.js'

export interface HoldOptions extends ChangeOptions {
  readonly sm?: ClockRange
  readonly mem?: number
  readonly limit?: number
  readonly seconds?: number
}

/**
 * Changes the settings of a board while a command runs, or for some seconds, or until it is interrupted. Then restores
 * the board.
 *
 * @returns the command's exit code; 0 without a command
 */
export async function hold(options: HoldOptions, command: readonly string[], terminal: Terminal): Promise<number> {
  if (options.sm === undefined && options.mem === undefined && options.limit === undefined) {
    throw new UsageError('nothing to hold; give --sm, --mem or --limit')
  }
  const gpu = await openOne(options, terminal)
  return withLease(gpu, async (lease) => {
    // The memory clock decides which SM clocks are available, so it is locked first.
    if (options.mem !== undefined) await lease.lockMemClock(options.mem)
    if (options.sm !== undefined) await lease.lockSmClock(options.sm)
    if (options.limit !== undefined) await lease.setPowerLimit(options.limit)
    announce(gpu.device.subject, options, lease, terminal)
    if (command.length > 0) return runChild(command, terminal)
    await untilAborted(terminal.signal, options.seconds === undefined ? undefined : 1000 * options.seconds)
    return 0
  })
}

function announce(
  subject: string,
  { sm, mem, limit, seconds, json }: HoldOptions,
  lease: BoardLease,
  terminal: Terminal,
): void {
  if (json) {
    printJson(terminal, {
      held: { smClock: sm ?? null, memClockMhz: mem ?? null, powerLimitW: limit ?? null },
      found: lease.found,
      path: lease.path,
    })
    return
  }
  const parts = [
    ...(mem === undefined ? [] : [`memory clock ${mem} MHz`]),
    ...(sm === undefined ? [] : [`SM clock ${describeRange(sm)}`]),
    ...(limit === undefined ? [] : [`power limit ${limit} W`]),
  ]
  const until = seconds === undefined ? 'until the command or Ctrl-C ends it' : `for ${seconds} s`
  terminal.stderr.write(
    `${subject}: holding ${parts.join(', ')} through ${lease.path === 'service' ? 'the node service' : 'NVML'}, ${until}\n`,
  )
}
