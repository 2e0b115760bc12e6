import { constants } from 'node:os'
import { reasonOf } from '@pctodl/platform'

/**
 * Order in which an ending process stops what it has started. Whatever uses other parts stops first, and the board is
 * restored last.
 */
export const endingStages: readonly ['child', 'tenants', 'mps', 'board'] = ['child', 'tenants', 'mps', 'board']

export type EndingStage = (typeof endingStages)[number]

/** A task to be completed before this process ends. */
export interface Ending {
  readonly stage: EndingStage
  /** Description for messages. */
  readonly what: string
  /** Time limit of `end`, ms. If `end` takes longer, a message says so, and clean-up is left to the next run. */
  readonly deadlineMs: number
  end(): Promise<void>
  /** Does as much of `end` as is possible without an event loop. Must not throw. */
  endAtExit?(): void
}

/** A signal that asks this process to end. */
export type EndingSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/** Reason of a command's aborted signal after the process has received a signal. */
export class Interruption extends Error {
  /** 128 plus the number of the signal, as shells do: 130 for SIGINT, 143 for SIGTERM. */
  readonly exitCode: number

  constructor(readonly signal: EndingSignal) {
    super(signal === 'SIGINT' ? 'interrupted' : signal === 'SIGTERM' ? 'terminated' : 'hung up')
    this.exitCode = 128 + constants.signals[signal]
  }
}

const signals: readonly EndingSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** Time limit of each stage after a second signal, ms. */
const HURRIED_MS = 3000
/** Time for a command to end by itself after the first signal, ms. */
const UNWINDING_MS = 60_000

/**
 * The registered tasks and the running command of this process. All copies of this module share one state, because only
 * one signal handler may decide.
 */
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
 * Registers a task that must be completed before the process ends. This module alone handles signals. If a command runs
 * (`runCommand`), the first signal aborts it, so that it cleans up. After a second signal or a minute, all registered
 * tasks are ended at once. Without a command, a signal ends the registered tasks and then the process, unless the
 * program handles the signal itself. Tasks that remain at `exit` are ended then.
 *
 * @returns a function that removes the task
 */
export function onEnding(entry: Ending): () => void {
  state.entries.add(entry)
  listen()
  return () => {
    state.entries.delete(entry)
    unlistenIfIdle()
  }
}

/** Whether a signal is ending this process while no command runs. */
export function isEnding(): boolean {
  return state.ending
}

/**
 * Runs work that blocks this process, e.g. the solution of an integer program. JavaScript cannot handle signals during
 * such work. If no task is registered (`onEnding`), the handlers are removed, so that a signal ends the process at
 * once. Otherwise signals are handled after the work.
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

/**
 * Makes a command that begins handle the signals of the process.
 *
 * @returns the signal that aborts the command
 *
 * @internal
 */
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
  // If the program has its own handler, it decides what the signal means; the tasks are then ended at `exit`.
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

/** Errors are written here, because no caller handles them. */
async function endOne(entry: Ending, deadlineMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${entry.what} has not ended in ${deadlineMs} ms`)), deadlineMs)
  })
  try {
    await Promise.race([entry.end(), late])
  } catch (error) {
    process.stderr.write(`pctodl: ${reasonOf(error)}\n`)
  } finally {
    clearTimeout(timer)
  }
}

function inOrder(): Ending[] {
  return [...state.entries].sort((a, b) => endingStages.indexOf(a.stage) - endingStages.indexOf(b.stage))
}

/**
 * Number of listeners that signal-exit has installed, as execa does while a child runs. These listeners leave ending
 * the process to others, so they do not count as the program's own handler.
 */
function yieldingListeners(): number {
  const emitter = (globalThis as { readonly [name: symbol]: unknown })[Symbol.for('signal-exit emitter')]
  return (emitter as { readonly count: number } | undefined)?.count ?? 0
}
