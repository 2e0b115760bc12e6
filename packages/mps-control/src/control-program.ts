import { cleanEnvironment } from '@pctodl/nvml-control'
import { type FoundProgram, findProgram, noProgram } from './find-program.js'
import { MpsError } from './mps-errors.js'
import type { MpsPlace } from './mps-place.js'

export interface ControlProgramOptions {
  /**
   * Path or name of the program. Root accepts only one that no other user can change. Default
   * `nvidia-cuda-mps-control`.
   */
  readonly program?: string
  /** Time limit for the daemon's answer to a command, ms. Default 30,000. */
  readonly timeoutMs?: number
}

/** A command that every daemon has. Without it, the text of `help` is not a list of commands. */
const VERB_OF_ALL = 'get_server_list'

/** NVIDIA's MPS control program, for the daemon of one place. Each call sends one command, with a time limit. */
export class ControlProgram {
  readonly #place: MpsPlace
  readonly #program: string
  readonly #timeoutMs: number
  #found: FoundProgram | undefined
  #verbs: ReadonlySet<string> | undefined

  constructor(
    place: MpsPlace,
    { program = 'nvidia-cuda-mps-control', timeoutMs = 30_000 }: ControlProgramOptions = {},
  ) {
    this.#place = place
    this.#program = program
    this.#timeoutMs = timeoutMs
  }

  async version(): Promise<string> {
    return (await this.#run(['-v'], '', { timeoutMs: this.#timeoutMs })).output
  }

  /**
   * Starts a daemon in the background.
   * @param signal if it aborts, the call does not wait any longer; the caller must end the processes that were started
   * @throws MpsError `MPS_NO_PROGRAM`, `MPS_REFUSED`, `MPS_TIMEOUT`; the signal's reason
   */
  async startDaemon(
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<void> {
    this.#verbs = undefined
    const outcome = await this.#run(['-d', ...args], '', { environment, timeoutMs: this.#timeoutMs, signal })
    if (outcome.exitCode !== 0) {
      throw new MpsError(
        'MPS_REFUSED',
        `\`${this.#program} ${['-d', ...args].join(' ')}\` ended with ${outcome.exitCode}: ${outcome.output || 'it said nothing'}; ` +
          `see ${this.#place.logDirectory}/control.log`,
      )
    }
  }

  /**
   * Sends one command to the daemon, and returns the lines of the answer.
   * @throws MpsError `MPS_NO_DAEMON`, `MPS_TIMEOUT`, `MPS_NO_PROGRAM`; the signal's reason if it aborts
   */
  async ask(line: string, timeoutMs: number = this.#timeoutMs, signal?: AbortSignal): Promise<string[]> {
    const outcome = await this.#run([], `${line}\n`, { timeoutMs, signal })
    if (outcome.exitCode !== 0) {
      throw new MpsError(
        'MPS_NO_DAEMON',
        `no MPS daemon answers '${line}' at ${this.#place.pipeDirectory}: ${outcome.output || `exit code ${outcome.exitCode}`}; ` +
          'start one with `pctodl mps start`',
      )
    }
    return outcome.output.split('\n').filter((text) => text.trim() !== '')
  }

  /**
   * Sends a command that only some versions have, as the daemon's `help` says or, without usable help, its answer.
   * @throws MpsError `NOT_SUPPORTED` if the command does not exist, `MPS_REFUSED` if the daemon reports an error
   */
  async askIfKnown(line: string): Promise<string[]> {
    const [verb = ''] = line.split(' ')
    this.#verbs ??= new Set((await this.ask('help')).map((text) => text.trim().split(/\s+/)[0]!))
    const isLacking = this.#verbs.has(VERB_OF_ALL) && !this.#verbs.has(verb)
    const answer = isLacking ? [] : await this.ask(line)
    if (isLacking || answer.some((text) => /unrecognized command|unknown command/i.test(text))) {
      throw new MpsError('NOT_SUPPORTED', `this MPS daemon has no command '${verb}'; it takes a newer driver`)
    }
    const complaint = answer.find((text) => /not found|invalid|usage:|fail|error/i.test(text))
    if (complaint) throw new MpsError('MPS_REFUSED', `the MPS daemon refuses '${line}': ${complaint.trim()}`)
    return answer
  }

  async #run(
    args: readonly string[],
    input: string,
    {
      environment = {},
      timeoutMs,
      signal,
    }: { environment?: Readonly<Record<string, string>>; timeoutMs: number; signal?: AbortSignal | undefined },
  ): Promise<{ exitCode: number | undefined; output: string }> {
    // With `-d`, the daemon stays and keeps the inherited pipes open, so only the end of the program itself is awaited.
    const background = args.length > 0
    this.#found ??= findProgram(this.#program, process.env['PATH'] ?? '')
    const { file, searchPath } = this.#found
    const { execa } = await import('execa')
    const running = execa(file, [...args], {
      ...(background ? { stdin: 'ignore' as const } : { input }),
      reject: false,
      all: true,
      timeout: timeoutMs,
      ...(signal ? { cancelSignal: signal } : {}),
      // If the call is aborted, nobody waits for it.
      forceKillAfterDelay: 100,
      cwd: '/',
      // The daemon searches for programs such as the server in the folder of the control program.
      env: { ...cleanEnvironment(), ...ofCuda(), ...environment, ...this.#place.environment, PATH: searchPath },
      extendEnv: false,
    })
    const result = await (signal ? unlessAborted(running, signal) : running)
    // EACCES also occurs if PATH contains a folder that this user may not enter, such as a folder of root after a
    // change of user.
    if (result.code === 'ENOENT' || result.code === 'EACCES') {
      throw noProgram(this.#program, 'on PATH, or not for this user', result)
    }
    if (result.timedOut) {
      const what = background
        ? `\`${this.#program} ${args.join(' ')}\``
        : `the MPS daemon's answer to '${input.trim()}'`
      throw new MpsError('MPS_TIMEOUT', `${what} took longer than ${timeoutMs} ms; see ${this.#place.logDirectory}`, {
        cause: result,
      })
    }
    return { exitCode: result.exitCode, output: (result.all ?? '').trim() }
  }
}

function ofCuda(): Record<string, string> {
  const said = Object.entries(process.env).filter(([name, value]) => name.startsWith('CUDA_') && value !== undefined)
  return Object.fromEntries(said) as Record<string, string>
}

/**
 * Waits for work until the signal aborts: a daemon that was started may hold the pipes of the program that started it,
 * so that this program seems to go on.
 */
async function unlessAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
  })
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
