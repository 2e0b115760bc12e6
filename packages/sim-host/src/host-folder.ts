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
import { controlSocket, settersSocket } from './host-folder-layout.js'
import { NVML_LIBRARY } from './native-library.js'

const PREFIX = 'pctodl-gpu-sim-'
const OWNER_FILE = 'owner'

/** Programs that the host provides. */
export const hostPrograms = ['nvidia-smi', 'nvidia-cuda-mps-control', 'pctodl-host-worker'] as const

export interface HostFolderOptions {
  /** Compiled NVML library. */
  readonly library: string
  /** Folder with `<program>.cjs` of every host program. */
  readonly programsFolder: string
  /** Parent of the folder. Default: the system's folder for temporary files. */
  readonly parent?: string
}

/** The private folder of one host: library, programs, board files, sockets. Host mode writes nothing elsewhere. */
export class HostFolder {
  readonly path: string
  readonly #removeAtExit = () => this.remove()

  constructor({ library, programsFolder, parent = tmpdir() }: HostFolderOptions) {
    removeStaleFolders(parent)
    this.path = mkdtempSync(join(parent, PREFIX))
    process.once('exit', this.#removeAtExit)
    writeFileSync(join(this.path, OWNER_FILE), `${process.pid} ${startTimeOf(process.pid) ?? ''}\n`)
    // The command of a privileged host may drop its privileges and must still find the board, as with device files.
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

  get libraries(): string {
    return join(this.path, 'lib')
  }

  get programs(): string {
    return join(this.path, 'bin')
  }

  /** Folder with the names of stand-in processes. */
  get standIns(): string {
    return join(this.path, 'processes')
  }

  get mpsPipes(): string {
    return join(this.path, 'mps')
  }

  get mpsLogs(): string {
    return join(this.path, 'mps-log')
  }

  get socket(): string {
    return controlSocket(this.path)
  }

  get setters(): string {
    return settersSocket(this.path)
  }

  /** Remove the folder. Idempotent. An ending program may still write to its log, so removal is retried. */
  remove(): void {
    process.off('exit', this.#removeAtExit)
    rmSync(this.path, { recursive: true, force: true, maxRetries: 20, retryDelay: 10 })
  }
}

/** Remove the folders of hosts that were killed. */
function removeStaleFolders(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(PREFIX)) continue
    const folder = join(parent, name)
    try {
      if (lstatSync(folder).uid !== process.geteuid?.()) continue
      const [pid, startTime] = readFileSync(join(folder, OWNER_FILE), 'utf8').trim().split(' ')
      if (isAlive(Number(pid)) && (startTimeOf(Number(pid)) ?? '') === (startTime ?? '')) continue
      rmSync(folder, { recursive: true, force: true })
    } catch {
      // Another host is creating or removing it right now.
    }
  }
}

/** Start time of a process in clock ticks since boot; it distinguishes processes that reuse an id. */
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
