import { PctodlError } from '@pctodl/platform'
import { execa } from 'execa'

/** A line that ends a step: `step 17`, `Step: 17/100`, `global_step=17`. */
export const DEFAULT_STEP_PATTERN = 'step\\W*\\d+'

export interface StartTraining {
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly stepPattern: RegExp
  readonly signal: AbortSignal
  readonly onLine?: (line: string) => void
  readonly onStep?: (steps: number) => void
}

export class TrainingProcess {
  /** Steps printed so far. */
  steps = 0
  readonly #child: ReturnType<typeof spawn>
  readonly #start: StartTraining
  /** How it ended: `exit code 3`. */
  readonly ended: Promise<string>
  #onStep: () => void = () => {}

  constructor(start: StartTraining) {
    this.#start = start
    this.#child = spawn(start)
    this.ended = this.#readLines()
  }

  /**
   * Wait for further steps.
   *
   * @throws PctodlError `TOO_FEW_STEPS` if it ends before; the signal's reason if aborted
   */
  async further(steps: number): Promise<void> {
    const until = this.steps + steps
    const reached = new Promise<null>((resolve) => {
      this.#onStep = () => this.steps >= until && resolve(null)
      this.#onStep()
    })
    const outcome = await Promise.race([reached, this.ended])
    if (this.steps >= until) return
    this.#start.signal.throwIfAborted()
    throw new PctodlError(
      'TOO_FEW_STEPS',
      `'${this.#start.command.join(' ')}' ended (${outcome}) after ${this.steps} steps, but at least ${until} are needed; let it ` +
        `train longer, or check that ${this.#start.stepPattern} matches one line of each step`,
    )
  }

  /** End it. Idempotent. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.ended
  }

  async #readLines(): Promise<string> {
    const { onLine, onStep, stepPattern } = this.#start
    for await (const line of this.#child.iterable({ from: 'all' })) {
      onLine?.(line)
      if (!stepPattern.test(line)) continue
      this.steps++
      onStep?.(this.steps)
      this.#onStep()
    }
    const { exitCode, signal, code } = await this.#child
    if (code === 'ENOENT') return 'command not found'
    if (code === 'EACCES') return 'permission denied'
    return exitCode === undefined ? `signal ${signal}` : `exit code ${exitCode}`
  }
}

function spawn({ command: [file = '', ...args], environment, signal }: StartTraining) {
  return execa(file, args, {
    // Python buffers its output if that is no terminal.
    env: { PYTHONUNBUFFERED: '1', ...environment },
    all: true,
    buffer: false,
    reject: false,
    stdin: 'ignore',
    cancelSignal: signal,
    forceKillAfterDelay: 5000,
  })
}
