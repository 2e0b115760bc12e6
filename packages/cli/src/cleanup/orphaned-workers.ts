import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { isRunning, type ProcessIdentity, processIdentity } from '@pctodl/nvml-control'
import { torchWorkerFile } from '@pctodl/tenants'
import type { Leftover } from './leftover.js'

/**
 * Ends of the paths of worker programs. Only the end is compared, because workers of other installations count too.
 */
const workerFiles = [`/python/${basename(torchWorkerFile())}`, '/dist/programs/onnx-worker.js']

/**
 * Finds inference workers of this user whose pool has died. Usually, a worker ends with its pool. A stopped or stuck
 * worker ends only if the kernel was told to kill it, which setpriv of util-linux does.
 */
export function orphanedWorkers(): (Leftover & { readonly pid: number })[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const pid = Number(name)
      const identity = processIdentity(pid)
      const words = identity === null || ownerOf(pid) !== process.geteuid?.() ? null : wordsOf(pid)
      if (identity === null || words === null || !isWorker(words) || !isOrphan(pid)) return []
      const what = `worker ${pid} (${words.join(' ').slice(0, 80)}), whose pool is gone`
      return [{ kind: 'worker' as const, pid, what, remove: () => kill(identity) }]
    })
}

/**
 * Whether a command line runs a worker: `node [options] .../onnx-worker.js` or `python -u .../pctodl_torch_worker.py`.
 * The program file is a separate word.
 */
function isWorker(words: readonly string[]): boolean {
  return words.slice(1).some((word) => workerFiles.some((file) => word.endsWith(file)))
}

/**
 * Whether a worker's pool has died: the worker's parent is then process 1 or a session manager. A parent that is a Node
 * process is the pool, even if it is process 1 of a container.
 */
function isOrphan(pid: number): boolean {
  const parent = parentOf(pid)
  if (parent === null) return false
  const program = nameOf(parent)
  return program === 'systemd' || (parent === 1 && !/^(node|pctodl)/i.test(program ?? 'node'))
}

async function kill(identity: ProcessIdentity): Promise<string> {
  if (!isRunning(identity)) return 'has ended by itself'
  process.kill(identity.pid, 'SIGKILL')
  for (let waitedMs = 0; isRunning(identity); waitedMs += 20) {
    // A process inside the driver cannot die until the driver returns.
    if (waitedMs >= 5000) throw new Error(`process ${identity.pid} does not end; is it waiting for the driver?`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return 'ended'
}

function wordsOf(pid: number): string[] | null {
  return (
    read(`/proc/${pid}/cmdline`)
      ?.split('\0')
      .filter((word) => word !== '') ?? null
  )
}

function nameOf(pid: number): string | null {
  return read(`/proc/${pid}/comm`)?.trim() ?? null
}

function parentOf(pid: number): number | null {
  const stat = read(`/proc/${pid}/stat`)
  // The name in parentheses may contain anything; state and parent are the first fields after it.
  return stat === null ? null : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

function ownerOf(pid: number): number | null {
  try {
    return statSync(`/proc/${pid}`).uid
  } catch {
    return null
  }
}

/** Text of a file of `/proc`; null if the process has ended or is hidden. */
function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
