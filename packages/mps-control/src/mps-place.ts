import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { commandLineOf, isRunning, type ProcessIdentity, processIdentity } from '@pctodl/nvml-control'
import { z } from 'zod'
import { MpsError } from './mps-errors.js'

const daemonRecord = z.strictObject({
  format: z.literal('pctodl-mps-daemon'),
  version: z.literal(1),
  daemon: z.strictObject({ pid: z.int().min(1), startTime: z.number().min(0) }),
  uid: z.int().min(0),
  startedAt: z.string(),
})

/** What is written down of a daemon that we started: by this, and by nothing else, is it known again. */
export type DaemonRecord = Readonly<z.infer<typeof daemonRecord>>

export interface MpsPlaceOptions {
  /** Folder that is ours: holds `pipe`, `log` and our record. Default `$PCTODL_MPS_DIR`, or `/tmp/pctodl-mps-<uid>`. */
  readonly directory?: string
  /** Where daemon, servers and clients meet. Default `pipe` in the folder. */
  readonly pipeDirectory?: string
  /** Default `log` in the folder. */
  readonly logDirectory?: string
}

/** Files by which a daemon can be found, as NVIDIA's names them. */
const PID_FILE = 'nvidia-cuda-mps-control.pid'
const PIPE = 'control'
const leftBehind = [PID_FILE, PIPE, 'control_lock', 'control_privileged', 'log']

/** A daemon's place on disk. */
export class MpsPlace {
  readonly directory: string
  readonly pipeDirectory: string
  readonly logDirectory: string

  constructor({ directory, pipeDirectory, logDirectory }: MpsPlaceOptions = {}) {
    const uid = process.getuid?.() ?? 0
    this.directory = path.resolve(directory ?? (process.env['PCTODL_MPS_DIR'] || `/tmp/pctodl-mps-${uid}`))
    this.pipeDirectory = path.resolve(pipeDirectory ?? path.join(this.directory, 'pipe'))
    this.logDirectory = path.resolve(logDirectory ?? path.join(this.directory, 'log'))
  }

  /** What a daemon, and a program that talks to it, must have in its environment. */
  get environment(): { readonly CUDA_MPS_PIPE_DIRECTORY: string; readonly CUDA_MPS_LOG_DIRECTORY: string } {
    return { CUDA_MPS_PIPE_DIRECTORY: this.pipeDirectory, CUDA_MPS_LOG_DIRECTORY: this.logDirectory }
  }

  /**
   * Make the folders, for the user whose clients will come.
   *
   * @throws MpsError `MPS_FOLDER` where one belongs to somebody else, or cannot be made
   */
  make(uid: number): void {
    for (const folder of [this.directory, this.pipeDirectory, this.logDirectory]) {
      try {
        if (!existsSync(folder)) {
          mkdirSync(folder, { recursive: true, mode: 0o700 })
          if (uid !== process.geteuid?.()) chownSync(folder, uid, -1)
        }
        const owner = statSync(folder).uid
        if (owner !== uid && owner !== process.geteuid?.()) throw new Error(`it belongs to user ${owner}`)
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause)
        throw new MpsError('MPS_FOLDER', `cannot use ${folder} for MPS: ${reason}; choose another with --directory`, {
          cause,
        })
      }
    }
  }

  /** The daemon that the pid file names, as a process; null where there is no file, or its process is gone or another one. */
  daemon(): ProcessIdentity | null {
    const pid = this.pidInFile()
    const identity = pid === null ? null : processIdentity(pid)
    // A pid is used again: what it names must be a control daemon to be taken for one.
    return identity && /nvidia-cuda-mps/.test(commandLineOf(identity.pid) ?? '') ? identity : null
  }

  pidInFile(): number | null {
    try {
      const pid = Number(readFileSync(path.join(this.pipeDirectory, PID_FILE), 'utf8').trim())
      return Number.isInteger(pid) && pid > 0 ? pid : null
    } catch {
      return null
    }
  }

  /** Whether there is a pipe to give commands through: without one, no daemon can be reached here. */
  hasPipe(): boolean {
    return existsSync(path.join(this.pipeDirectory, PIPE))
  }

  /** Remove what a daemon that is gone has left: its known files, nothing else. @returns the files removed */
  removeStale(): string[] {
    const stale = leftBehind.map((name) => path.join(this.pipeDirectory, name)).filter((file) => existsSync(file))
    for (const file of stale) rmSync(file, { force: true })
    return stale
  }

  /** The record of our daemon; null where there is none, or its process is gone. @throws MpsError `MPS_FOLDER` */
  record(): DaemonRecord | null {
    const file = this.#recordFile
    if (!existsSync(file)) return null
    try {
      const record = daemonRecord.parse(JSON.parse(readFileSync(file, 'utf8')))
      return isRunning(record.daemon) ? record : null
    } catch (cause) {
      throw new MpsError('MPS_FOLDER', `${file} is no record of an MPS daemon; remove it`, { cause })
    }
  }

  writeRecord(daemon: ProcessIdentity, uid: number): void {
    const startedAt = new Date().toISOString()
    const record: DaemonRecord = { format: 'pctodl-mps-daemon', version: 1, daemon, uid, startedAt }
    writeFileAtomically(this.#recordFile, `${JSON.stringify(record, null, 2)}\n`)
  }

  removeRecord(): void {
    rmSync(this.#recordFile, { force: true })
  }

  get #recordFile(): string {
    return path.join(this.directory, 'daemon.json')
  }
}
