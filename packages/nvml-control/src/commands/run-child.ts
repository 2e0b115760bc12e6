import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { Interruption, onEnding, type Terminal, UsageError } from '@pctodl/command-line'
import { endProcess } from '../lease/end-process.js'
import { descendantsOf, isRunning, type ProcessIdentity } from '../lease/process-identity.js'

export interface RunChildOptions {
  readonly environment?: Readonly<Record<string, string>>
  /** Time that an interrupted program has to exit, ms. Then it and its descendants are killed. Default 10,000. */
  readonly graceMs?: number
}

/** Time for the program's remaining descendants to exit after SIGTERM, ms. */
const ORPHAN_GRACE_MS = 1000

/**
 * Runs a child program and returns only after it has exited, because the caller then removes the power limit or MPS
 * daemon that the child depends on. An interruption is forwarded to the child.
 * @returns the child's exit code; 128 plus the signal number if a signal ended the child or interrupted this program
 * @throws UsageError if the child cannot be started
 */
export async function runChild(
  [file = '', ...args]: readonly string[],
  { signal }: Pick<Terminal, 'signal'>,
  { environment = {}, graceMs = 10_000 }: RunChildOptions = {},
): Promise<number> {
  const child = spawn(file, args, { stdio: 'inherit', env: { ...process.env, ...environment } })
  /** The program's descendants by pid, found at the interruption or up to their end. */
  const family = new Map<number, ProcessIdentity>()
  const note = () => {
    for (const each of descendantsOf(child.pid!)) if (!family.has(each.pid)) family.set(each.pid, each)
  }
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code === 'ENOENT' ? 'command not found' : error.message
      reject(new UsageError(`${file}: ${reason}`))
    })
    child.once('exit', (code, by) => resolve(code ?? 128 + constants.signals[by!]))
  })
  const kill = () => {
    note()
    for (const each of family.values()) killIfRunning(each)
    child.kill('SIGKILL')
  }
  let timer: NodeJS.Timeout | undefined
  const onAbort = () => {
    const { signal: by } = interruptionOf(signal)
    note()
    // On Ctrl-C, the terminal has already sent the signal to the child.
    if (!(by === 'SIGINT' && process.stdin.isTTY)) child.kill(by)
    timer = setTimeout(kill, graceMs)
  }
  const end = async () => {
    kill()
    await ended
  }
  const forget = onEnding({ stage: 'child', what: file, deadlineMs: graceMs, end, endAtExit: kill })
  try {
    if (child.pid !== undefined && signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    const code = await ended
    if (!signal.aborted) return code
    // Otherwise, processes that the program left running would continue without the power limit.
    await Promise.all([...family.values()].map((each) => endProcess(each, ORPHAN_GRACE_MS)))
    return interruptionOf(signal).exitCode
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    forget()
  }
}

function interruptionOf(signal: AbortSignal): Interruption {
  return signal.reason instanceof Interruption ? signal.reason : new Interruption('SIGINT')
}

function killIfRunning(identity: ProcessIdentity): void {
  if (!isRunning(identity)) return
  try {
    process.kill(identity.pid, 'SIGKILL')
  } catch {
    // The process has exited meanwhile, or its user has changed and it must not be signalled.
  }
}
