import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { readNote, writeNote } from './work-folder.js'

/**
 * Process that holds a folder. The start time distinguishes it from a later process with the same PID. Boot ID and PID
 * namespace show whether the holder is visible from this process.
 */
interface Holder {
  readonly pid: number
  readonly startTicks: string | null
  readonly host: string
  /** Distinguishes machines with the same host name, such as clones of one image; null if the machine has no id. */
  readonly machineId: string | null
  readonly bootId: string | null
  readonly pidNamespace: string | null
}

const NAME = /^lock-[0-9a-f]{16}$/

/**
 * Locks a folder against other schedulers until the returned function is called. Removes locks of dead processes.
 *
 * Each process writes its lock before it checks for others. Of two processes that start at once, at least one therefore
 * sees the other's lock and fails; possibly both do.
 *
 * @throws PctodlError `FOLDER_IN_USE` with the holder and what to do; InvalidInputError for a lock file that names no
 * process
 */
export function lockFolder(folder: string): () => void {
  const own = `lock-${randomBytes(8).toString('hex')}`
  const unlock = () => rmSync(path.join(folder, own), { force: true })
  writeNote(path.join(folder, own), JSON.stringify(thisProcess()))
  try {
    for (const other of readdirSync(folder).filter((name) => NAME.test(name) && name !== own)) {
      const file = path.join(folder, other)
      const text = readNote(file)
      if (text !== undefined) assertGone(holderIn(text, file), folder, file)
      rmSync(file, { force: true })
    }
  } catch (error) {
    unlock()
    throw error
  }
  return unlock
}

/** @throws InvalidInputError for text that names no process, because it is unknown whether its writer is alive */
function holderIn(text: string, file: string): Holder {
  const holder: Partial<Holder> | null | undefined = orNull(() => JSON.parse(text))
  if (Number.isInteger(holder?.pid) && holder!.pid! > 0 && typeof holder!.host === 'string') return holder as Holder
  throw new InvalidInputError(
    file,
    text.length > 80 ? `${text.length} characters` : text,
    'the lock of a scheduler; if none uses the folder, remove the file',
  )
}

function assertGone(
  { pid, startTicks, host, machineId, bootId, pidNamespace }: Holder,
  folder: string,
  file: string,
): void {
  const here = thisProcess()
  const isHere = host === here.host && machineId === here.machineId && pidNamespace === here.pidNamespace
  if (isHere && (bootId !== here.bootId || !isRunning(pid, startTicks))) return
  throw new PctodlError(
    'FOLDER_IN_USE',
    isHere
      ? `${folder} is in use by process ${pid}: wait for it, end it, or use another folder`
      : `${folder} is in use by process ${pid} on ${host} or in another container, out of sight from here: ` +
          `use another folder or, if that process is gone, remove ${file}`,
  )
}

function isRunning(pid: number, startTicks: string | null): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM means that the process exists but belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return startTicksOf(pid) === startTicks
}

function thisProcess(): Holder {
  return {
    pid: process.pid,
    startTicks: startTicksOf(process.pid),
    host: hostname(),
    machineId: orNull(() => readFileSync('/etc/machine-id', 'utf8').trim()),
    bootId: orNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    pidNamespace: orNull(() => readlinkSync('/proc/self/ns/pid')),
  }
}

/**
 * Start time of a process in clock ticks; null without `/proc`, as on macOS. A zombie counts as ended, because it only
 * waits for its parent.
 */
function startTicksOf(pid: number): string | null {
  return orNull(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain blanks and parentheses, so the fields are counted after its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? 'ended' : fields[19]!
  })
}

function orNull<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
