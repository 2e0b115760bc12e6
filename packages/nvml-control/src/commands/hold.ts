import { type Terminal, UsageError } from '@pctodl/command-line'
import { type BoardChange, type ClockRange, describeChange } from '../control/board-change.js'
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

/** Changes a board while a command runs, for some seconds, or until an interruption. Returns the exit code. */
export async function hold(options: HoldOptions, command: readonly string[], terminal: Terminal): Promise<number> {
  const { sm, mem, limit, seconds } = options
  // The memory clock decides which SM clocks are available, so it is locked first.
  const changes: BoardChange[] = []
  if (mem !== undefined) changes.push({ kind: 'mem-clock', range: { minMhz: mem, maxMhz: mem } })
  if (sm !== undefined) changes.push({ kind: 'sm-clock', range: sm })
  if (limit !== undefined) changes.push({ kind: 'power-limit', powerLimitW: limit })
  if (changes.length === 0) throw new UsageError('nothing to hold; give --sm, --mem or --limit')
  const gpu = await openOne(options, terminal)
  return withLease(gpu, async (lease) => {
    for (const change of changes) await lease.change(change)
    if (options.json) {
      const held = { smClock: sm ?? null, memClockMhz: mem ?? null, powerLimitW: limit ?? null }
      printJson(terminal, { held, found: lease.found, path: lease.path })
    } else {
      const how = lease.path === 'service' ? 'the node service' : 'NVML'
      const until = seconds === undefined ? 'until the command or Ctrl-C ends it' : `for ${seconds} s`
      const what = changes.map(describeChange).join(', ')
      terminal.stderr.write(`${gpu.device.subject}: holding ${what} through ${how}, ${until}\n`)
    }
    if (command.length > 0) return runChild(command, terminal)
    await untilAborted(terminal.signal, seconds === undefined ? undefined : 1000 * seconds)
    return 0
  })
}
