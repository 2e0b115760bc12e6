import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from './board-file.js'
import { NVML_LIBRARY } from './native-library.js'

const PREFIX = 'pctodl-gpu-sim-'
const OWNER_FILE = 'owner'

/** Names of the programs that the host provides. */
export const hostPrograms = ['nvidia-smi', 'nvidia-cuda-mps-control', 'pctodl-host-worker'] as const

export interface HostFolderOptions {
  /** Compiled NVML library. */
  readonly library: string
  /** Folder that contains `<program>.cjs` for every host program. */
  readonly programsFolder: string
}

/**
 * The private folder of one host: its library, programs, board files and sockets. A running host writes to no other
 * folder.
 */
export class HostFolder {
  readonly path: string = newFolder()
  readonly libraries: string = join(this.path, 'lib')
  readonly programs: string = join(this.path, 'bin')
  /** Folder with the executables of the processes that stand for simulated ones. */
  readonly standIns: string = join(this.path, 'processes')
  readonly mpsPipes: string = join(this.path, 'mps')
  readonly mpsLogs: string = join(this.path, 'mps-log')
  readonly #removeAtExit = () => this.remove()

  constructor({ library, programsFolder }: HostFolderOptions) {
    process.once('exit', this.#removeAtExit)
    writeFileSync(join(this.path, OWNER_FILE), `${process.pid} ${startTimeOf(process.pid) ?? ''}\n`)
    // A command that root starts may drop its privileges, but must still reach the boards, as with device files.
    if (process.geteuid?.() === 0) chmodSync(this.path, 0o711)
    mkdirSync(this.libraries)
    copyFileSync(library, join(this.libraries, NVML_LIBRARY))
    symlinkSync(NVML_LIBRARY, join(this.libraries, 'libnvidia-ml.so'))
    mkdirSync(this.programs)
    for (const program of hostPrograms) {
      const script = [
        '#!/bin/sh',
        `PCTODL_GPU_SIM_FOLDER=${shellQuoted(this.path)} exec ${shellQuoted(process.execPath)} ` +
          `${shellQuoted(join(programsFolder, `${program}.cjs`))} "$@"`,
        '',
      ].join('\n')
      writeFileSync(join(this.programs, program), script, { mode: 0o755 })
    }
    mkdirSync(this.standIns)
    mkdirSync(this.mpsPipes)
    mkdirSync(this.mpsLogs)
  }

  /**
   * Removes the folder; a second call does nothing. Removal is retried, because a program that is ending may still
   * write to its log.
   */
  remove(): void {
    process.off('exit', this.#removeAtExit)
    rmSync(this.path, { recursive: true, force: true, maxRetries: 20, retryDelay: 10 })
  }
}

/** Makes a folder, after removing those of hosts that were killed. */
function newFolder(): string {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue
    const folder = join(tmpdir(), name)
    try {
      if (lstatSync(folder).uid !== process.geteuid?.()) continue
      const [pid, startTime] = readFileSync(join(folder, OWNER_FILE), 'utf8').trim().split(' ')
      if (isAlive(Number(pid)) && (startTimeOf(Number(pid)) ?? '') === (startTime ?? '')) continue
      rmSync(folder, { recursive: true, force: true })
    } catch {
      // Another host is creating or removing the same folder.
    }
  }
  return mkdtempSync(join(tmpdir(), PREFIX))
}

/**
 * Returns the start time of a process in clock ticks since boot. It distinguishes processes that got the same pid one
 * after the other.
 */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
