import { constants } from 'node:os'

/** Order in which an ending process undoes its work: users before what they use, the board last. */
export const endingStages: readonly ['child', 'tenants', 'mps', 'board'] = ['child', 'tenants', 'mps', 'board']

export type EndingStage = (typeof endingStages)[number]

/** A task to be completed before this process ends. */
export interface Ending {
  readonly stage: EndingStage
  /** Description for messages. */
  readonly what: string
  /** Time limit of `end`, ms. If it is exceeded, a message says so, and the rest is left to the next run. */
  readonly deadlineMs: number
  end(): Promise<void>
  /** The same without an event loop, if possible. Must not throw. */
  endAtExit?(): void
}

/** A signal that asks this process to end. */
export type EndingSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/** Reason with which a command's signal is aborted. */
export class Interruption extends Error {
  readonly signal: EndingSignal
  /** 128 plus the signal's number, as in shells: 130 for SIGINT, 143 for SIGTERM. */
  readonly exitCode: number

  constructor(signal: EndingSignal) {
    super(signal === 'SIGINT' ? 'interrupted' : signal === 'SIGTERM' ? 'terminated' : 'hung up')
    this.signal = signal
    this.exitCode = 128 + constants.signals[signal]
  }
}

const signals: readonly EndingSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** Time limit of each stage after a second signal. */
const HURRIED_MS = 3000
/** Time for a command to end by itself after the first signal. */
const UNWINDING_MS = 60_000

/** One per process, even if this module is loaded several times: only one may decide. */
interface Endings {
  readonly entries: Set<Ending>
  command: AbortController | undefined
  told: EndingSignal | undefined
  ending: boolean
  listening: boolean
}

const key = Symbol.for('pctodl endings')
const place = globalThis as unknown as { [key]?: Endings }
place[key] ??= { entries: new Set(), command: undefined, told: undefined, ending: false, listening: false }
const state = place[key]

/**
 * The single place that decides what a signal means. With a command (`runCommand`), the first signal aborts it, and it
 * cleans up on its way out; a second signal, or a minute, ends whatever is left at once. Without a command, a signal
 * ends everything entered here and then the process, unless the program handles the signal itself. Anything left at
 * `exit` is ended there.
 *
 * @returns takes the entry out again
 */
export function onEnding(entry: Ending): () => void {
  state.entries.add(entry)
  listen()
  return () => {
    state.entries.delete(entry)
    unlistenIfIdle()
  }
}

/** Whether a signal is about to end this process without a command to return to. */
export function isEnding(): boolean {
  return state.ending
}

/**
 * Do work that blocks this process, such as solving an integer program, while nothing needs to be ended. No signal
 * could be handled meanwhile, so the handlers are removed and a signal ends the process at once. If anything is entered
 * (`onEnding`), signals are handled after the work.
 */
export async function endingAtOnce<Result>(work: () => Promise<Result>): Promise<Result> {
  if (!state.listening || state.entries.size > 0) return work()
  for (const signal of signals) process.off(signal, onSignal)
  try {
    return await work()
  } finally {
    if (state.listening) for (const signal of signals) process.on(signal, onSignal)
  }
}

/** @internal From now on this command handles the signals of the process. */
export function beginCommand(): AbortSignal {
  state.command = new AbortController()
  listen()
  return state.command.signal
}

/** @internal */
export function endCommand(): void {
  state.command = undefined
  unlistenIfIdle()
}

function listen(): void {
  if (state.listening) return
  state.listening = true
  process.on('exit', onExit)
  for (const signal of signals) process.on(signal, onSignal)
}

function unlistenIfIdle(): void {
  if (state.entries.size > 0 || state.command !== undefined || state.ending) return
  state.listening = false
  process.off('exit', onExit)
  for (const signal of signals) process.off(signal, onSignal)
}

function onExit(): void {
  for (const entry of inOrder()) entry.endAtExit?.()
}

function onSignal(signal: EndingSignal): void {
  if (state.command) {
    if (state.told === undefined) {
      state.told = signal
      state.command.abort(new Interruption(signal))
      setTimeout(() => void hurry(signal), UNWINDING_MS).unref()
    } else void hurry(state.told)
    return
  }
  // A program with its own handler decides what the signal means; it will end through `exit`.
  if (process.listenerCount(signal) > 1 + yieldingListeners() || state.ending) return
  state.ending = true
  const end = () => {
    process.off(signal, onSignal)
    process.kill(process.pid, signal)
  }
  void endAll((entry) => entry.deadlineMs).then(end)
}

async function hurry(signal: EndingSignal): Promise<void> {
  if (state.ending) return
  state.ending = true
  await endAll((entry) => Math.min(entry.deadlineMs, HURRIED_MS))
  process.exit(new Interruption(signal).exitCode)
}

async function endAll(deadlineOf: (entry: Ending) => number): Promise<void> {
  for (const stage of endingStages) {
    const entries = inOrder().filter((entry) => entry.stage === stage)
    await Promise.all(entries.map((entry) => endOne(entry, deadlineOf(entry))))
  }
}

/** Failures are reported here, because nobody else will. */
async function endOne(entry: Ending, deadlineMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${entry.what} has not ended in ${deadlineMs} ms`)), deadlineMs)
  })
  try {
    await Promise.race([entry.end(), late])
  } catch (error) {
    process.stderr.write(`pctodl: ${error instanceof Error ? error.message : String(error)}\n`)
  } finally {
    clearTimeout(timer)
  }
}

function inOrder(): Ending[] {
  return [...state.entries].sort((a, b) => endingStages.indexOf(a.stage) - endingStages.indexOf(b.stage))
}

/**
 * Listeners of signal-exit, which execa installs while a child runs, leave the end to other listeners. They must not
 * count as a program's own handler.
 */
function yieldingListeners(): number {
  const emitter = (globalThis as { readonly [name: symbol]: unknown })[Symbol.for('signal-exit emitter')]
  return (emitter as { readonly count: number } | undefined)?.count ?? 0
}
