import { constants } from 'node:os'

/** In what order a process that ends undoes what it has begun: whoever works before whoever they work with, the board last. */
export const endingStages: readonly ['child', 'tenants', 'mps', 'board'] = ['child', 'tenants', 'mps', 'board']

export type EndingStage = (typeof endingStages)[number]

/** Something that must be ended or put back before this process is gone. */
export interface Ending {
  readonly stage: EndingStage
  /** What it is, for messages. */
  readonly what: string
  /** How long `end` may take, ms. What is not done by then is said, and left to whoever comes after us. */
  readonly deadlineMs: number
  end(): Promise<void>
  /** The same without an event loop, where that is possible. Must not throw. */
  endAtExit?(): void
}

/** A signal that asks this process to end. */
export type EndingSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/** Why a command's signal was aborted. */
export class Interruption extends Error {
  readonly signal: EndingSignal
  /** 128 plus the signal's number, as shells have it: 130 for SIGINT, 143 for SIGTERM. */
  readonly exitCode: number

  constructor(signal: EndingSignal) {
    super(signal === 'SIGINT' ? 'interrupted' : signal === 'SIGTERM' ? 'terminated' : 'hung up')
    this.signal = signal
    this.exitCode = 128 + constants.signals[signal]
  }
}

const signals: readonly EndingSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** Each stage of a process that is told a second time to end. */
const HURRIED_MS = 3000
/** What a command may take to end of its own accord, after it was told to. */
const UNWINDING_MS = 60_000

/** One per process, however many copies of this module there are: two that decide would not be one that decides. */
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
 * The one place that decides what a signal means. With a command (`runCommand`), the first signal aborts it, and it ends what it has
 * begun on its way out; a second one, or a minute, ends whatever is still there at once. Without a command, a signal ends all that is
 * entered here and then this process, unless the program handles the signal itself. Whatever remains at `exit` is ended there.
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
 * Do work that blocks this process, such as solving an integer program, for which there is nothing to be ended: nobody could hear a signal
 * meanwhile, so none is listened to, and it ends the process at once, as the system would. Where anything is entered (`onEnding`), signals stay heard,
 * after the work.
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

/** @internal The signals of this process are this command's from now on. */
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
  // A program with a handler of its own decides what the signal means; whatever it does, it ends through `exit`.
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

/** What fails is said: nobody else will. */
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
 * Listeners of signal-exit, which execa puts up while a child runs: they leave the end to whoever else listens, so they must
 * not count as somebody to whom we leave it.
 */
function yieldingListeners(): number {
  const emitter = (globalThis as { readonly [name: symbol]: unknown })[Symbol.for('signal-exit emitter')]
  return (emitter as { readonly count: number } | undefined)?.count ?? 0
}
