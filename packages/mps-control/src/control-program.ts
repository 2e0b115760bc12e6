import { once } from 'node:events'
import { lstatSync } from 'node:fs'
import { cleanEnvironment } from '@pctodl/nvml-control'
import { InvalidInputError } from '@pctodl/platform'
import { type FoundProgram, findProgram, noProgram } from './find-program.js'
import { MpsError } from './mps-errors.js'
import type { MpsPlace } from './mps-place.js'

export interface ControlProgramOptions {
  /** Path or name. Root accepts only a program that no other user can change. Default `nvidia-cuda-mps-control`. */
  readonly program?: string
  /** Time limit for the daemon's answer to a command, ms. Default 30,000. */
  readonly timeoutMs?: number
}

/** NVIDIA's MPS control program, for the daemon of one place. Each call sends one command, with a time limit. */
export class ControlProgram {
  readonly #place: MpsPlace
  readonly #program: string
  readonly #timeoutMs: number
  #found: FoundProgram | undefined

  constructor(
    place: MpsPlace,
    { program = 'nvidia-cuda-mps-control', timeoutMs = 30_000 }: ControlProgramOptions = {},
  ) {
    this.#place = place
    this.#program = program
    this.#timeoutMs = timeoutMs
  }

  async version(): Promise<string> {
    const { output } = await this.#run(['-v'], '', { timeoutMs: this.#timeoutMs })
    // A copyright follows.
    return output.split('\n')[0]!
  }

  /**
   * @param signal if it aborts, the call does not wait any longer; the caller must end the processes that were started
   * @throws MpsError `MPS_NO_PROGRAM`, `MPS_REFUSED`, `MPS_TIMEOUT`; the signal's reason
   */
  async startDaemon(
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<void> {
    const words = ['-d', ...args]
    const { exitCode, output } = await this.#run(words, '', { environment, timeoutMs: this.#timeoutMs, signal })
    if (exitCode === 0) return
    const why = `\`${this.#program} ${words.join(' ')}\` ended with ${exitCode}: ${output || 'it said nothing'}`
    throw new MpsError('MPS_REFUSED', `${why}; see ${this.#place.logDirectory}/control.log`)
  }

  /** Sends one command, and returns the lines of the answer. @throws MpsError `MPS_NO_DAEMON`, `MPS_TIMEOUT`, ... */
  async ask(line: string, timeoutMs: number = this.#timeoutMs, signal?: AbortSignal): Promise<string[]> {
    // The daemon would take a second line for another command, such as `quit`.
    if (/[\r\n]/.test(line)) throw new InvalidInputError('command', line, 'one line')
    const outcome = await this.#run([], `${line}\n`, { timeoutMs, signal })
    if (outcome.exitCode !== 0) {
      const why = `${outcome.output || `exit code ${outcome.exitCode}`}; start one with \`pctodl mps start\``
      throw new MpsError('MPS_NO_DAEMON', `no MPS daemon answers '${line}' at ${this.#place.pipeDirectory}: ${why}`)
    }
    return outcome.output.split('\n').filter((text) => text.trim() !== '')
  }

  /**
   * Sends a command that only some versions have. A refusal is known by its words (`failed`, `invalid`, `not found`); an
   * answer in other words is returned, so look in it for what was asked, such as the id of a new partition.
   * @throws MpsError `NOT_SUPPORTED`, `MPS_REFUSED`
   */
  async askIfKnown(line: string): Promise<string[]> {
    const answer = await this.ask(line)
    if (answer.some((text) => /unrecognized command|unknown command/i.test(text))) {
      throw new MpsError(
        'NOT_SUPPORTED',
        `this MPS daemon has no command '${line.split(' ')[0]}'; it takes a newer driver`,
      )
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
    // Node 20.20 does not follow links of packages right after the status of a socket was read; another status ends that.
    lstatSync('/')
    const { execa } = await import('execa')
    const running = execa(file, [...args], {
      ...(background ? { stdin: 'ignore' as const } : { input }),
      reject: false,
      all: true,
      timeout: timeoutMs,
      ...(signal ? { cancelSignal: signal } : {}),
      // After an abort, no caller waits for the program, so it is killed soon.
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
      const call = `\`${this.#program} ${args.join(' ')}\``
      const what = background ? call : `the MPS daemon's answer to '${input.trim()}'`
      const why = `${what} took longer than ${timeoutMs} ms; see ${this.#place.logDirectory}`
      throw new MpsError('MPS_TIMEOUT', why, { cause: result })
    }
    return { exitCode: result.exitCode, output: (result.all ?? '').trim() }
  }
}

function ofCuda(): Record<string, string> {
  const said = Object.entries(process.env).filter(([name, value]) => name.startsWith('CUDA_') && value !== undefined)
  return Object.fromEntries(said) as Record<string, string>
}

/** After an abort this does not wait: a daemon may hold the pipes of the program that started it. */
async function unlessAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const done = new AbortController()
  const aborted = once(signal, 'abort', { signal: done.signal }).then(() => Promise.reject(signal.reason))
  try {
    return await Promise.race([work, aborted])
  } finally {
    done.abort()
  }
}
