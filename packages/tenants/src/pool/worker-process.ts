import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  type Clock,
  given,
  hasFallen,
  isStalled,
  LatencyHistogram,
  PctodlError,
  type Tenant,
  type TenantCounters,
  type TenantState,
} from '@pctodl/platform'
import { LineSplitter } from '../protocol/line-splitter.js'
import {
  type Command,
  type Failure,
  type ImageFile,
  type Progress,
  type ProtocolVersion,
  parseReport,
  type Report,
} from '../protocol/messages.js'
import { monotonicMs } from '../protocol/monotonic.js'
import { batchSizesUpTo } from '../requests/batch-sizes.js'
import { type ProcessState, processState } from './process-state.js'
import type { WorkerLaunch } from './worker-kind.js'

/** Time without a message after which the pool checks the state of the worker's process, ms. */
const SILENT_MS = 700
/** Time without a message after which the pool ends a worker that only waits for CPU time, ms. */
const STARVED_MS = 10_000
/** Number of characters of a worker's standard error to keep for messages. */
const KEPT_ERROR_TEXT = 2000
/**
 * Time for which the remaining output of an ended process is read, ms. A child of the process may keep the output open
 * forever.
 */
const READ_AFTER_END_MS = 500

export interface WorkerProcessOptions {
  readonly id: number
  readonly tenant: Tenant
  readonly launch: WorkerLaunch
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly images: ImageFile
  readonly logFile: string | null
  readonly clock: Clock
  /** Called when the batch that was requested is done. */
  readonly onAnswered: (worker: WorkerProcess) => void
  /** Called once when the worker has failed. Messages that arrive later are ignored. */
  readonly onFailed: (worker: WorkerProcess, failure: string) => void
  /** Called once when the process has ended and all its output has been read. */
  readonly onClosed: (worker: WorkerProcess) => void
}

/** One worker process, and what it has reported so far. */
export class WorkerProcess {
  readonly id: number
  readonly pid: number
  readonly logFile: string | null
  /**
   * State of the process. A stalled worker is `running` here; `stalledBecause` and the state in `counters` show the
   * stall.
   */
  state: Exclude<TenantState, 'stalled'> | 'ended' = 'loading'
  failure: string | undefined
  /** The worker's report about a batch that did not fit in memory. */
  outOfMemory: { readonly batchSize: number; readonly largestBatchSize: number | null } | undefined
  /** Runtime, device and, if the worker reported one, a choice that it made. */
  description = ''
  /** Device that the worker reports to run on. */
  device = ''
  /** Whether the pool is ending the worker on purpose. */
  draining = false
  readonly closed: Promise<void>
  /** Time at which the worker was last found stalled, on the pool's clock, ms; -Infinity if it never was. */
  stalledAtMs: number = Number.NEGATIVE_INFINITY
  readonly #options: WorkerProcessOptions
  readonly #child: ChildProcess
  readonly #toClockMs: number
  readonly #latencies = new LatencyHistogram()
  readonly #answers = new Map<number, (answered: boolean) => void>()
  #tenant: Tenant
  #progress: Progress | undefined
  #readyMs = 0
  #heardMs: number
  /** Time of the worker's last heartbeat, on the worker's own clock, ms. */
  #aliveMs = 0
  #started: (() => void)[] = []
  #errorText = ''
  #nextCommand = 1
  /** Whether the worker runs batches only on request. */
  readonly #onRequest: boolean
  readonly #protocol: ProtocolVersion
  /** The last requested batch if it is not answered yet, and the time of the request, ms. */
  #asked: { readonly id: number; readonly atMs: number } | undefined

  constructor(options: WorkerProcessOptions) {
    const { id, tenant, launch, environment, images, logFile, clock } = options
    this.#options = options
    this.id = id
    this.logFile = logFile
    this.#tenant = tenant
    this.#onRequest = tenant.service !== undefined
    this.#protocol = launch.protocol ?? (this.#onRequest ? 2 : 1)
    this.#toClockMs = clock.now() - monotonicMs()
    this.#heardMs = monotonicMs()
    const { program, args } = diesWithParent(launch)
    this.#child = spawn(program, args, {
      env: { ...environment, ...launch.environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.pid = this.#child.pid ?? 0
    this.closed = new Promise((resolve) => {
      this.#child.on('close', (code, signal) => {
        this.#onClose(code, signal)
        resolve()
      })
    })
    this.#child.once('exit', () => {
      const output = setTimeout(() => {
        this.#child.stdout?.destroy()
        this.#child.stderr?.destroy()
      }, READ_AFTER_END_MS)
      void this.closed.then(() => clearTimeout(output))
    })
    this.#child.on('error', (error) => this.#fail(`cannot start ${launch.program}: ${error.message}`))
    this.#child.stdin!.on('error', () => {})
    this.#child.stderr!.on('data', (text: Buffer) => {
      this.#errorText = (this.#errorText + text).slice(-KEPT_ERROR_TEXT)
    })
    const lines = new LineSplitter()
    this.#child.stdout!.on('data', (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) this.#onReport(parseReport(line))
      } catch (error) {
        this.#fail(`it broke the protocol: ${error instanceof Error ? error.message : error}`)
        this.kill()
      }
    })
    const mode = this.#onRequest ? 'on-request' : 'free'
    const batchSizes = this.#onRequest ? batchSizesUpTo(tenant.batchSize) : []
    this.#send({
      type: 'start',
      ...(this.#protocol === 1 ? { version: 1 } : { version: 2, mode, batchSizes }),
      model: tenant.model,
      modelFile: launch.modelFile ?? null,
      mpsPercent: tenant.mpsPercent,
      batchSize: tenant.batchSize,
      images,
      logFile,
      sampleBytes: launch.sampleBytes ?? null,
      memoryLimitBytes: launch.memoryLimitBytes ?? null,
      options: launch.options ?? {},
    })
  }

  /** The tenant, with the batch size that was requested last. */
  get tenant(): Tenant {
    return this.#tenant
  }

  get counters(): TenantCounters {
    const counts = this.#counts()
    const stalled = this.stalledBecause()
    const failure = this.failure ?? stalled
    return {
      id: this.id,
      ...counts,
      ...(stalled === undefined ? {} : { state: 'stalled' }),
      ...given({ failure }),
      lastCompletionMs: counts.lastCompletionMs + this.#toClockMs,
      latencies: this.#latencies.snapshot(),
    }
  }

  /** Resolves when the worker runs or has failed. */
  started(): Promise<void> {
    return this.state === 'loading' ? new Promise((resolve) => this.#started.push(resolve)) : Promise.resolve()
  }

  /** Changes the service, or the batch size from the next batch on. Neither change needs a new process. */
  become({ batchSize, service }: Tenant): void {
    const other = batchSize !== this.#tenant.batchSize
    const { service: _, ...tenant } = this.#tenant
    this.#tenant = { ...tenant, batchSize, ...given({ service }) }
    if (other && !this.#onRequest) this.#send({ type: 'batch', id: this.#nextCommand++, batchSize })
  }

  /**
   * Runs a batch of `batchSize` for the given number of requests and calls `onAnswered` when it is done. Only one batch
   * may run at a time.
   */
  run(requests: number, batchSize: number): void {
    const id = this.#nextCommand++
    this.#asked = { id, atMs: monotonicMs() }
    this.#send({ type: 'run', id, requests, batchSize })
  }

  /**
   * Requests the counters.
   *
   * @returns whether the counters arrived within the timeout, while the worker was alive
   */
  async report(timeoutMs = 500): Promise<boolean> {
    if (this.state !== 'running') return false
    const id = this.#nextCommand++
    const answer = new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => this.#answer(id, false), timeoutMs)
      this.#answers.set(id, (answered) => {
        clearTimeout(timer)
        resolve(answered)
      })
    })
    this.#send({ type: 'report', id })
    return answer
  }

  /** Lets the worker finish its batch, and kills it after `graceMs`. Resolves when the process has ended. */
  async drain(graceMs: number): Promise<void> {
    this.draining = true
    this.#send({ type: 'drain', id: this.#nextCommand++ })
    // Killing an ended process has no effect.
    setTimeout(() => this.kill(), graceMs).unref()
    await this.closed
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /**
   * Marks the worker as failed and kills it.
   *
   * @param failure the reason
   */
  fail(failure: string): void {
    this.#fail(failure)
    this.kill()
  }

  /**
   * Returns why the worker counts as hung; undefined if it does not. On a busy host, an overdue heartbeat alone does
   * not show that a worker hangs, so the kernel is asked for the process state. A stopped or sleeping process counts as
   * hung. A process that waits for a CPU cannot send heartbeats and does not count as hung for up to 10 s. The end of a
   * dead process is reported by its own event.
   */
  hungBecause(): string | undefined {
    const silentMs = monotonicMs() - this.#heardMs
    if (this.state !== 'running' || silentMs < SILENT_MS) return undefined
    const state: ProcessState = processState(this.pid)
    if (state === 'dead' || (state === 'running' && silentMs < STARVED_MS)) return undefined
    return `hung: no heartbeat for ${Math.round(silentMs)} ms, the process is ${state}`
  }

  /**
   * Returns why the worker counts as stalled; undefined if it does not. A stalled worker sends heartbeats, but for ten
   * mean batch times it has completed no batch. This time is counted from its last batch or request, on the worker's
   * clock, so that delays of the pool do not count. A worker without a request cannot stall.
   */
  stalledBecause(): string | undefined {
    if (this.state !== 'running' || (this.#onRequest && !this.#asked)) return undefined
    const counts = this.#counts()
    const sinceMs = Math.max(counts.lastCompletionMs, this.#asked?.atMs ?? 0)
    if (!isStalled({ ...counts, lastCompletionMs: sinceMs }, this.#aliveMs)) return undefined
    const { batches, latencySumMs } = counts
    const own = batches > 0 ? `a batch took ${Math.round(latencySumMs / batches)} ms before` : 'it never completed one'
    return `stalled: no batch for ${Math.round(this.#aliveMs - sinceMs)} ms, ${own}`
  }

  /** What the worker has reported so far. Times are on its own clock. */
  #counts(): Omit<TenantCounters, 'id'> {
    const { samples = 0, batches = 0, latencySumMs = 0, lastCompletionMs = 0, batchSize = 0 } = this.#progress ?? {}
    const isFirst = batches === 0
    return {
      tenant: this.#tenant,
      state: this.state === 'ended' ? 'failed' : this.state,
      samples,
      batches,
      latencySumMs,
      lastCompletionMs: isFirst ? this.#readyMs : lastCompletionMs,
      lastBatchSize: isFirst ? 0 : batchSize,
    }
  }

  #onReport(report: Report): void {
    this.#heardMs = monotonicMs()
    if (report.type === 'hello') {
      const { version, runtime, device, note } = report
      if (version !== this.#protocol) throw new PctodlError('PROTOCOL_VERSION', this.#otherVersion(version))
      this.device = device
      this.description = `${runtime} on ${device}${note === undefined ? '' : ` (${note})`}`
    } else if (report.type === 'heartbeat') {
      this.#aliveMs = report.atMs
      if (this.stalledBecause() !== undefined) this.stalledAtMs = report.atMs + this.#toClockMs
    } else if (report.type === 'ready') {
      if (this.state !== 'loading')
        throw new PctodlError('NOT_LOADING', 'it reported ready without having been loading')
      this.#readyMs = report.atMs
      this.#become('running')
    } else if (report.type === 'progress') {
      if (this.#progress && hasFallen(this.#progress, report)) {
        throw new PctodlError(
          'COUNTER_FELL',
          `its counters fell from ${this.#progress.samples} samples in ${this.#progress.batches} batches to ${report.samples} in ${report.batches}`,
        )
      }
      this.#progress = report
      for (const latencyMs of report.latenciesMs) this.#latencies.record(latencyMs)
      if (report.id !== undefined) this.#answer(report.id, true)
    } else if (report.type === 'answered') {
      // Batches of a failed worker were already passed on to other workers.
      if (this.state === 'failed') return
      if (report.id !== this.#asked?.id) {
        throw new PctodlError('NOT_ASKED', `it answered batch ${report.id}, which was not requested`)
      }
      this.#asked = undefined
      this.#options.onAnswered(this)
    } else if (report.type === 'failed') this.#onFailure(report)
  }

  #otherVersion(version: number): string {
    const spoken = `it speaks protocol ${version}, and was started with protocol ${this.#protocol}`
    if (!this.#onRequest || version !== 1) return spoken
    return `${spoken}; a worker of protocol 1 takes no requests, so its tenant cannot serve '${this.#tenant.service}'`
  }

  #onFailure({ reason, message, batchSize, largestBatchSize = null }: Failure): void {
    if (reason === 'out-of-memory' && batchSize !== undefined) {
      this.outOfMemory = { batchSize, largestBatchSize }
      const largest = largestBatchSize === null ? 'no smaller batch tried fits' : `batch ${largestBatchSize} fits`
      this.#fail(`out of memory: ${message}; ${largest}`)
    } else if (this.description === '' && this.#protocol === 2 && /version|protocol/.test(message)) {
      this.#fail(
        `${message}; it was started with protocol 2, which ${this.#onRequest ? 'serving requests' : 'it'} takes`,
      )
    } else this.#fail(message)
  }

  #onClose(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.draining && this.failure === undefined) this.#become('ended')
    else if (this.failure === undefined) {
      const how = signal === null ? `exit code ${code}` : signal
      const said = this.#errorText.trim().split('\n').slice(-3).join(' | ')
      this.#fail(`the process ended (${how})${said === '' ? '' : `: ${said}`}`)
    }
    for (const id of [...this.#answers.keys()]) this.#answer(id, false)
    this.#options.onClosed(this)
  }

  #fail(failure: string): void {
    const before = this.failure
    this.failure ??= failure
    this.#become('failed')
    if (before === undefined) this.#options.onFailed(this, failure)
  }

  #become(state: WorkerProcess['state']): void {
    this.state = state
    for (const resolve of this.#started.splice(0)) resolve()
  }

  #answer(id: number, answered: boolean): void {
    this.#answers.get(id)?.(answered)
    this.#answers.delete(id)
  }

  #send(command: Command): void {
    if (this.#child.stdin?.writable) this.#child.stdin.write(`${JSON.stringify(command)}\n`)
  }
}

/**
 * Makes the kernel kill the worker when the pool's process dies, if `setpriv` (util-linux) is installed. A worker also
 * ends when its standard input closes, but a stopped or stuck worker does not notice that.
 */
function diesWithParent({ program, args }: WorkerLaunch): {
  readonly program: string
  readonly args: readonly string[]
} {
  if (!hasSetpriv()) return { program, args }
  return { program: 'setpriv', args: ['--pdeathsig', 'KILL', '--', program, ...args] }
}

let setpriv: boolean | undefined
function hasSetpriv(): boolean {
  setpriv ??= process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'KILL', '--', 'true']).status === 0
  return setpriv
}
