import { chmodSync, existsSync, lstatSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { makePrivateFolder, privateFolder, readOwnFile, writeFileAtomically } from '@pctodl/command-line'
import {
  commandLineOf,
  executableOf,
  isRunning,
  letPass,
  type ProcessIdentity,
  processesOf,
  processIdentity,
  reasonOf,
  startVariableOf,
  userOf,
} from '@pctodl/nvml-control'
import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'
import { MpsError } from './mps-errors.js'

/** Record of a daemon. Only a daemon that matches the record counts as started by this package. */
const daemonRecord = z.strictObject({
  format: z.literal('pctodl-mps-daemon'),
  version: z.literal(1),
  daemon: z.strictObject({ pid: z.int().min(1), startTime: z.number().min(0) }),
  executable: z.string().nullable(),
  uid: z.int().min(0),
  startedAt: z.string(),
})

export interface MpsPlaceOptions {
  /** UUID of the daemon's board. Each board has its own place. Default: one place for all boards. */
  readonly board?: string
  /** Folder that contains all places. Default: `defaultMpsFolder()`. */
  readonly folder?: string
  /** Folder of this place, with `pipe`, `log` and the record. Default: the board's subfolder of `folder`. */
  readonly directory?: string
  /** Folder for the pipes between daemon, servers and clients. Default: `pipe` inside the place's own folder. */
  readonly pipeDirectory?: string
  /** Folder for the daemon's logs. Default: `log` inside the place's own folder. */
  readonly logDirectory?: string
}

/** Files that identify a daemon, with NVIDIA's names. */
const PID_FILE = 'nvidia-cuda-mps-control.pid'
const PIPE = 'control'
const leftBehind = [PID_FILE, PIPE, 'control_lock', 'control_privileged', 'log']

/** Maximum length of a socket's path in bytes (unix(7)), without the terminator. */
const MAX_SOCKET_PATH = 107

/** Size limit of the pid file and of our record. */
const MAX_FILE_BYTES = 16 * 1024

/** Returns the folder for all places of this user. The owner of every folder on the path to a place is checked. */
export function defaultMpsFolder(): string {
  const named = process.env['PCTODL_MPS_DIR']
  if (named) return path.resolve(named)
  const uid = process.geteuid?.() ?? 0
  if (uid === 0) return '/run/pctodl/mps'
  const runtime = process.env['XDG_RUNTIME_DIR']
  return runtime ? path.join(runtime, 'pctodl', 'mps') : `/tmp/pctodl-mps-${uid}`
}

/** The folders of a daemon. Only this user can write to them: no other user's process can pose as the daemon. */
export class MpsPlace {
  readonly board: string
  readonly directory: string
  readonly pipeDirectory: string
  readonly logDirectory: string
  readonly #above: string | undefined

  constructor({
    board = 'all',
    folder = defaultMpsFolder(),
    directory,
    pipeDirectory,
    logDirectory,
  }: MpsPlaceOptions = {}) {
    if (!/^[\w-]{1,64}$/.test(board)) throw new InvalidInputError('board', board, 'a UUID')
    this.board = board
    this.#above = directory === undefined ? folder : undefined
    this.directory = path.resolve(directory ?? path.join(folder, board))
    this.pipeDirectory = path.resolve(pipeDirectory ?? path.join(this.directory, 'pipe'))
    this.logDirectory = path.resolve(logDirectory ?? path.join(this.directory, 'log'))
  }

  /** Environment variables for the daemon, and for a program that connects to it. */
  get environment(): { readonly CUDA_MPS_PIPE_DIRECTORY: string; readonly CUDA_MPS_LOG_DIRECTORY: string } {
    return { CUDA_MPS_PIPE_DIRECTORY: this.pipeDirectory, CUDA_MPS_LOG_DIRECTORY: this.logDirectory }
  }

  /**
   * Creates the folders, owned by this user. If the clients belong to another user, this user alone may also pass
   * through them, but not create files. A name that is hard to guess would not protect the daemon: the kernel shows
   * everybody the paths of sockets that listen.
   * @param uid user to whom the clients belong
   * @throws MpsError `MPS_FOLDER` if a folder belongs to another user, or cannot be created
   */
  make(uid: number): void {
    const pipe = path.join(this.pipeDirectory, PIPE)
    const over = Buffer.byteLength(pipe) - MAX_SOCKET_PATH
    if (over > 0)
      throw unusable(this.directory, new Error(`the path of its socket, ${pipe}, is ${over} bytes too long`))
    const above = this.#above === undefined ? [] : [this.#above]
    for (const folder of [...above, this.directory, this.pipeDirectory, this.logDirectory]) {
      try {
        const isAbove = folder === this.#above
        // Root's places may serve many users, who pass through their common folder. Nobody else may pass through
        // another user's folder.
        makePrivateFolder(folder, isAbove && process.geteuid?.() === 0 ? 0o711 : 0o700, 0o755)
        if (isAbove) continue
        if (uid === process.geteuid?.()) chmodSync(folder, 0o700)
        else letPass(folder, uid)
      } catch (cause) {
        throw unusable(folder, cause)
      }
    }
  }

  /** Returns this user's control daemon for this place, which the pid file names. @throws MpsError `MPS_FOLDER` */
  daemon(): ProcessIdentity | null {
    // A client's user may have changed the pid file, but not the record.
    const recorded = this.record()?.daemon
    if (recorded && this.#isDaemonHere(recorded.pid)) return recorded
    const pid = this.pidInFile()
    const identity = pid === null ? null : processIdentity(pid)
    // The pid file may be wrong, or its pid reused, so what the kernel reports about the process is checked.
    return identity && this.#isDaemonHere(identity.pid) ? identity : null
  }

  /** Returns all processes that this user started for this place: control programs and daemons. */
  processes(): ProcessIdentity[] {
    return processesOf(process.geteuid?.() ?? 0).filter(({ pid }) => this.#isDaemonHere(pid))
  }

  /** Returns the pid in the pid file. @throws MpsError `MPS_FOLDER` if other users can write to the place */
  pidInFile(): number | null {
    if (!isPrivate(this.pipeDirectory)) return null
    try {
      // NVIDIA's daemon lets everybody write to its pid file. The folder keeps others out, except a user whose clients
      // it serves; that user can at most name another process, and `#isDaemonHere` asks the kernel about it.
      const text = readOwnFile(path.join(this.pipeDirectory, PID_FILE), MAX_FILE_BYTES, 0)
      const pid = Number(text?.trim() || Number.NaN)
      return Number.isInteger(pid) && pid > 0 ? pid : null
    } catch (cause) {
      throw unusable(this.pipeDirectory, cause)
    }
  }

  /** Whether this user's pipe exists. @throws MpsError `MPS_FOLDER` if others can write to the place or the pipe */
  hasPipe(): boolean {
    if (!isPrivate(this.pipeDirectory)) return false
    const stat = lstatSync(path.join(this.pipeDirectory, PIPE), { throwIfNoEntry: false })
    if (stat === undefined) return false
    if (stat.uid === process.geteuid?.() && !stat.isSymbolicLink()) return true
    throw unusable(this.pipeDirectory, new Error(`its pipe belongs to user ${stat.uid}, or is a link`))
  }

  /** Returns the last lines of the daemon's log, for a message. */
  lastWords(): string {
    try {
      const text = readOwnFile(path.join(this.logDirectory, 'control.log'), 1024 * 1024) ?? ''
      return text.trim().split('\n').slice(-3).join('; ').slice(-500)
    } catch {
      return ''
    }
  }

  /** Removes the known files of a dead daemon, and returns their paths. */
  removeStale(): string[] {
    if (!isPrivate(this.pipeDirectory)) return []
    const stale = leftBehind.map((name) => path.join(this.pipeDirectory, name)).filter((file) => existsSync(file))
    for (const file of stale) rmSync(file, { force: true })
    return stale
  }

  /** Returns the record of a daemon that this package started; null if there is none or its process has ended. */
  record(): { readonly daemon: ProcessIdentity; readonly uid: number } | null {
    if (!isPrivate(this.directory)) return null
    const file = this.#recordFile
    try {
      const text = readOwnFile(file, MAX_FILE_BYTES)
      if (text === null) return null
      const record = daemonRecord.parse(JSON.parse(text))
      const { daemon, executable } = record
      return isRunning(daemon) && executableOf(daemon.pid) === executable ? record : null
    } catch (cause) {
      throw new MpsError('MPS_FOLDER', `${file} is no record of an MPS daemon; remove it`, { cause })
    }
  }

  writeRecord(daemon: ProcessIdentity, uid: number): void {
    const record: z.infer<typeof daemonRecord> = {
      format: 'pctodl-mps-daemon',
      version: 1,
      daemon,
      executable: executableOf(daemon.pid),
      uid,
      startedAt: new Date().toISOString(),
    }
    writeFileAtomically(this.#recordFile, `${JSON.stringify(record, null, 2)}\n`, 0o600, true)
  }

  removeRecord(): void {
    if (isPrivate(this.directory)) rmSync(this.#recordFile, { force: true })
  }

  #isDaemonHere(pid: number): boolean {
    return (
      userOf(pid) === process.geteuid?.() &&
      isOfMps(commandLineOf(pid) ?? '') &&
      startVariableOf(pid, 'CUDA_MPS_PIPE_DIRECTORY') === this.pipeDirectory
    )
  }

  get #recordFile(): string {
    return path.join(this.directory, 'daemon.json')
  }
}

/** Returns the places of all daemons in a folder. @throws MpsError `MPS_FOLDER` if others can write to it */
export function mpsPlaces(folder: string = defaultMpsFolder()): MpsPlace[] {
  if (!isPrivate(folder, 'name another in PCTODL_MPS_DIR')) return []
  const names = readdirSync(folder).filter((name) => /^(all|(GPU|MIG)-[\w-]+)$/.test(name))
  return names.map((board) => new MpsPlace({ board, folder }))
}

/** Whether the command line runs an MPS program, directly or as a script. */
function isOfMps(commandLine: string): boolean {
  return commandLine
    .split(' ')
    .slice(0, 2)
    .some((word) => path.basename(word).startsWith('nvidia-cuda-mps'))
}

/** Whether only this user can write to the folder; false if it does not exist. @throws MpsError `MPS_FOLDER` */
function isPrivate(folder: string, remedy?: string): boolean {
  try {
    privateFolder(folder, 0o755)
    return true
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw unusable(folder, error, remedy)
  }
}

function unusable(folder: string, cause: unknown, remedy = 'choose another with --directory'): MpsError {
  return new MpsError('MPS_FOLDER', `cannot use ${folder} for MPS: ${reasonOf(cause)}; ${remedy}`, { cause })
}
