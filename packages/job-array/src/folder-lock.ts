import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { readNote, writeNote } from './work-folder.js'

/** Who holds a folder. The start tells a process from a later one of its number, boot and namespace say whether it can be seen from here. */
interface Holder {
  readonly pid: number
  readonly startTicks: string | null
  readonly host: string
  /** Tells machines of one name apart, as of one image; null where it has none. */
  readonly machineId: string | null
  readonly bootId: string | null
  readonly pidNamespace: string | null
}

const NAME = /^lock-[0-9a-f]{16}$/

/**
 * Hold a folder of one's own against other schedulers until the answer is called. Who held it and is gone is forgotten.
 *
 * Each says that he is there before he looks who else is, so of two who come at once at least one sees the other; it may be both.
 *
 * @throws PctodlError `FOLDER_IN_USE` with who holds it, and what to do; InvalidInputError for a lock that names nobody
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

/** @throws InvalidInputError for a text that names no process: nobody can say whether its writer is gone */
function holderIn(text: string, file: string): Holder {
  const holder: Partial<Holder> | null | undefined = orNull(() => JSON.parse(text))
  if (Number.isInteger(holder?.pid) && holder!.pid! > 0 && typeof holder!.host === 'string') return holder as Holder
  throw new InvalidInputError(
    file,
    text.length > 80 ? `${text.length} characters` : text,
    'what a scheduler notes of itself; if none uses the folder, remove the file',
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
      ? `${folder} is in use by process ${pid}: wait until it has ended, end it, or take another folder`
      : `${folder} is in use by process ${pid} of ${host}, or of another container, which cannot be seen from here: ` +
          `take another folder or, if that process is gone, remove ${file}`,
  )
}

function isRunning(pid: number, startTicks: string | null): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Somebody else's process is one, too.
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

/** Null where there is no `/proc`, as on macOS; a zombie has ended and only waits for its parent. */
function startTicksOf(pid: number): string | null {
  return orNull(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold anything, blanks and parentheses too; fields are counted after its end.
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
