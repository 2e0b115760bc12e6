import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { reasonOf } from '@pctodl/platform'
import { LineSplitter } from '../protocol/line-splitter.js'
import { type Command, type ProtocolVersion, parseCommand, type Report } from '../protocol/messages.js'
import { monotonicMs } from '../protocol/monotonic.js'

/** Interval of heartbeats, ms. The pool tolerates several missing heartbeats. */
const HEARTBEAT_MS = 100
/**
 * Longest delay of a report, ms. Reports are collected for this time, because there would be too many if batches take
 * only a millisecond.
 */
const REPORT_MS = 10

/** The worker's end of the protocol, for workers written in TypeScript: receives commands and reports counters. */
export class WorkerSide {
  #samples = 0
  #batches = 0
  #latencySumMs = 0
  #lastCompletionMs = 0
  #batchSize = 1
  #latenciesMs: number[] = []
  #version: ProtocolVersion = 1
  #log: number | undefined
  #flushTimer: NodeJS.Timeout | undefined
  readonly #output: number

  /** @param output file descriptor for reports. Default: standard output */
  constructor(output = 1) {
    this.#output = output
  }

  /** Listens for commands. Ends the process if the pool is gone. */
  listen(onCommand: (command: Command) => void): void {
    const lines = new LineSplitter()
    process.stdin.on('data', (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) {
          const command = parseCommand(line)
          if (command.type === 'start') this.#version = command.version
          onCommand(command)
        }
      } catch (error) {
        this.fail({ type: 'failed', reason: 'error', message: reasonOf(error) })
      }
    })
    // SIGKILL also ends a thread that is in the middle of a batch; `exit()` would wait for this thread.
    process.stdin.on('close', () => process.kill(process.pid, 'SIGKILL'))
    setInterval(() => this.send({ type: 'heartbeat', atMs: monotonicMs() }), HEARTBEAT_MS)
  }

  logTo(file: string | null): void {
    const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants
    // A symbolic link that somebody placed in the log folder is not followed, and a pipe does not block.
    if (file !== null) this.#log = openSync(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o644)
  }

  /** Reports runtime and device, in the protocol version of the pool. */
  hello(runtime: string, device: string, note: string | undefined): void {
    this.send({ type: 'hello', version: this.#version, runtime, device, ...(note === undefined ? {} : { note }) })
  }

  ready(batchSize: number): void {
    this.#lastCompletionMs = monotonicMs()
    this.#batchSize = batchSize
    this.send({ type: 'ready', atMs: this.#lastCompletionMs })
  }

  completed(samples: number, latencyMs: number, atMs: number): void {
    this.#samples += samples
    this.#batches++
    this.#latencySumMs += latencyMs
    this.#lastCompletionMs = atMs
    this.#batchSize = samples
    this.#latenciesMs.push(latencyMs)
    this.#flushTimer ??= setTimeout(() => this.report(), REPORT_MS)
  }

  /** Reports at once that the batch of a `run` command is done, because a caller waits for its answer. */
  answered(id: number, requests: number, batchMs: number, atMs: number): void {
    this.completed(requests, batchMs, atMs)
    this.send({ type: 'answered', id, atMs, batchMs })
  }

  /** Reports the counters now, and writes a line to the worker's own log. */
  report(id?: number): void {
    clearTimeout(this.#flushTimer)
    this.#flushTimer = undefined
    const [samples, batches] = [this.#samples, this.#batches]
    this.send({
      type: 'progress',
      samples,
      batches,
      latencySumMs: this.#latencySumMs,
      lastCompletionMs: this.#lastCompletionMs,
      batchSize: this.#batchSize,
      latenciesMs: this.#latenciesMs,
      ...(id === undefined ? {} : { id }),
    })
    this.#latenciesMs = []
    if (this.#log === undefined) return
    try {
      writeSync(this.#log, `${JSON.stringify({ samples, batches })}\n`)
    } catch (error) {
      // A full disk must not end a tenant.
      console.error(`its log ends here: ${reasonOf(error)}`)
      closeSync(this.#log)
      this.#log = undefined
    }
  }

  drained(id: number): never {
    this.report(id)
    this.send({ type: 'drained', id })
    if (this.#log !== undefined) closeSync(this.#log)
    process.exit(0)
  }

  fail(failure: Extract<Report, { type: 'failed' }>): never {
    this.send(failure)
    process.exit(1)
  }

  /**
   * Writes a report synchronously and completely, so that it is not lost if the process crashes directly afterwards.
   */
  send(report: Report): void {
    const bytes = Buffer.from(`${JSON.stringify(report)}\n`)
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#output, bytes, done)
    } catch {
      // The pool is gone, so end this process.
      process.kill(process.pid, 'SIGKILL')
    }
  }
}
