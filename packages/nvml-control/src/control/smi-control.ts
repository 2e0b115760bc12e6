import { PctodlError } from '@pctodl/platform'
import { execa, execaSync } from 'execa'
import { type BoardChange, describeChange } from './board-change.js'
import type { BoardControl } from './board-control.js'
import { smiArguments } from './smi-arguments.js'

export interface SmiOptions {
  /** The program. Default `nvidia-smi`, looked up on PATH. */
  readonly program?: string
  /**
   * Whether to go through `sudo -n`, which never asks for anything: it either may or fails. Default `auto`: for everybody
   * but root.
   */
  readonly sudo?: 'auto' | 'always' | 'never'
  /** How long one call may take, ms. Default 10,000. */
  readonly timeoutMs?: number
}

/** `nvidia-smi` could not, or may not, make a change. */
export class SmiError extends PctodlError {
  /** What was run. */
  readonly command: string
  readonly exitCode: number | null
  /** What it said. */
  readonly output: string

  constructor(code: string, command: string, exitCode: number | null, output: string, remedy: string, cause?: unknown) {
    const ending = exitCode === null ? 'did not run to its end' : `ended with ${exitCode}`
    super(code, `\`${command}\` ${ending}: ${output || 'it said nothing'}; ${remedy}`, { cause })
    this.command = command
    this.exitCode = exitCode
    this.output = output
  }
}

/** The second path: `nvidia-smi`, through `sudo -n` for those who are not root. */
export function smiControl(uuid: string, options: SmiOptions = {}): BoardControl {
  const { program = 'nvidia-smi', sudo = 'auto', timeoutMs = 10_000 } = options
  const throughSudo = sudo === 'always' || (sudo === 'auto' && process.geteuid?.() !== 0)
  const command = (change: BoardChange) => {
    const words = [program, ...smiArguments(uuid, change)]
    return throughSudo ? ['sudo', '-n', ...words] : words
  }
  // The locale decides the language of messages, which are told apart below.
  const settings = { reject: false, stdin: 'ignore', timeout: timeoutMs, all: true, env: { LC_ALL: 'C' } } as const
  return {
    path: 'nvidia-smi',
    async apply(change) {
      const [file = '', ...args] = command(change)
      assertDone(change, [file, ...args], await execa(file, args, settings))
    },
    applySync(change) {
      const [file = '', ...args] = command(change)
      assertDone(change, [file, ...args], execaSync(file, args, settings))
    },
  }
}

interface Outcome {
  readonly failed: boolean
  readonly exitCode?: number | undefined
  readonly timedOut: boolean
  readonly all?: string | undefined
  readonly code?: string | undefined
  readonly shortMessage?: string | undefined
}

function assertDone(change: BoardChange, words: readonly string[], outcome: Outcome): void {
  if (!outcome.failed) return
  const output = (outcome.all ?? '').trim()
  const [code, remedy] = reasonOf(change, words, outcome, output)
  const said = output || (outcome.timedOut ? 'no answer in time' : (outcome.shortMessage ?? ''))
  throw new SmiError(code, words.join(' '), outcome.exitCode ?? null, said, remedy, outcome)
}

/** The code of a failure, and what to do about it. */
function reasonOf(
  change: BoardChange,
  words: readonly string[],
  outcome: Outcome,
  output: string,
): readonly [code: string, remedy: string] {
  if (outcome.code === 'ENOENT') {
    const remedy = words[0] === 'sudo' ? 'install sudo, or run as root' : 'it comes with the NVIDIA driver; install it'
    return ['SMI_NOT_FOUND', remedy]
  }
  if (/^sudo: /m.test(output)) {
    return ['NO_PERMISSION', 'have the operator install what `pctodl-gpu sudoers` prints, or run as root']
  }
  // nvidia-smi ends with NVML's return code (its manual, RETURN VALUE).
  switch (outcome.exitCode) {
    case 2:
      return ['NVML_INVALID_ARGUMENT', `check ${describeChange(change)} against \`pctodl-gpu describe\``]
    case 3:
      return ['NOT_SUPPORTED', 'this board or driver does not have it']
    case 4:
      return ['NO_PERMISSION', 'run as root, or have the operator install what `pctodl-gpu sudoers` prints']
    case 9:
      return ['DRIVER_NOT_LOADED', 'load or install the NVIDIA driver']
    case 15:
      return ['GPU_LOST', 'reset the board or reboot']
    default:
      return ['SMI_FAILED', 'see what it said']
  }
}
