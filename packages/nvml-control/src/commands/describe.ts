import { given, type Terminal, writeFileAtomically } from '@pctodl/command-line'
import { formatPlatformFile } from '@pctodl/platform'
import { boardFacts } from '../describe/board-facts.js'
import { specOfBoard } from '../describe/spec-of-board.js'
import { type BoardOptions, openNvml, printJson } from './open-boards.js'

export interface DescribeOptions extends BoardOptions {
  readonly output?: string
  readonly key?: string
  readonly l2Mib?: number
  readonly baseClock?: number
  readonly boostClock?: number
}

/** Writes the type of a board to a platform file, which `--platform-file` of other commands reads. */
export async function describe(options: DescribeOptions, terminal: Terminal): Promise<number> {
  const nvml = await openNvml(options, terminal)
  const { key, l2Mib, baseClock, boostClock } = options
  const completion = given({
    key,
    l2Bytes: l2Mib && l2Mib * 1024 ** 2,
    baseClockMhz: baseClock,
    boostClockMhz: boostClock,
  })
  const spec = specOfBoard(boardFacts(nvml.device(options.gpu ?? 0)), completion)
  const text = formatPlatformFile(spec)
  if (options.output === undefined) {
    terminal.stdout.write(text)
    return 0
  }
  writeFileAtomically(options.output, text)
  const states = spec.clockStates.reduce((sum, state) => sum + state.smClocksMhz.length, 0)
  if (options.json) printJson(terminal, { file: options.output, key: spec.key, name: spec.name })
  else {
    terminal.stdout.write(
      `${spec.name} as '${spec.key}': ${spec.smCount} SMs, ${states} clock states, ${spec.powerLimitW.min} to ` +
        `${spec.powerLimitW.max} W -> ${options.output}\n`,
    )
  }
  return 0
}
