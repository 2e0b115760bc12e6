import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { PctodlError } from '@pctodl/platform'
import { cleanEnvironment } from './trusted-file.js'

/**
 * Shell script of the watchdog. It waits until a pipe from the lease's owner is closed, which the kernel does when the
 * owner ends. It then deletes an unfinished journal, because in this case nothing was changed. If there is a complete
 * journal, it runs the program that restores the board. While it waits, it uses about one megabyte and no CPU time.
 */
const script = `trap '' HUP INT TERM
read -r _
rm -f "$2"
[ -e "$1" ] || exit 0
shift 2
exec "$@"`

export interface WatchdogOptions {
  readonly journalFile: string
  /** Path of the journal while it is being written. */
  readonly unfinishedFile: string
  readonly leaseFolder: string
  readonly uuid: string
  readonly leaseId: string
  readonly libraryPath: string
}

/** Restores the board if the lease's owner ends without restoring it. */
export class Watchdog {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  get pid(): number {
    return this.#child.pid!
  }

  /**
   * Starts the watchdog.
   * @throws PctodlError `WATCHDOG` if it cannot be started; the caller must then not change the board
   */
  static async start(options: WatchdogOptions): Promise<Watchdog> {
    const child = spawn(
      '/bin/sh',
      ['-c', script, 'pctodl-gpu-watchdog', options.journalFile, options.unfinishedFile, ...restoreCommand(options)],
      {
        stdio: ['pipe', 'ignore', 'ignore'],
        // Start a new session, so that Ctrl-C at the owner's terminal does not reach the watchdog.
        detached: true,
        cwd: '/',
        env: cleanEnvironment(),
      },
    )
    child.stdin?.on('error', () => {})
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', (cause) => {
        reject(new PctodlError('WATCHDOG', `cannot start the lease's watchdog (/bin/sh): ${cause.message}`, { cause }))
      })
    })
    // The watchdog must not keep this process running.
    child.unref()
    ;(child.stdin as unknown as { unref?: () => void })?.unref?.()
    return new Watchdog(child)
  }

  /**
   * Closes the pipe, so that the watchdog exits. If there is still a journal, the watchdog restores the board first.
   */
  dismiss(): void {
    this.#child.stdin?.destroy()
  }
}

function restoreCommand({ leaseFolder, uuid, leaseId, libraryPath }: WatchdogOptions): string[] {
  return [process.execPath, restoreProgram(), leaseFolder, uuid, leaseId, libraryPath]
}

/**
 * Returns the path of the built restore program: beside this file, or in the package's `dist` when running from source.
 */
function restoreProgram(): string {
  const here = path.dirname(fileURLToPath(import.meta.url))
  const places = [here, path.join(here, '..', '..', 'dist')].map((folder) => path.join(folder, 'restore-journal.js'))
  const found = places.find((file) => existsSync(file))
  if (found) return found
  throw new PctodlError(
    'WATCHDOG',
    `the program that restores a board, ${places[0]}, is missing: a bundler must copy it beside the bundle; in this ` +
      'repository, build @pctodl/nvml-control first',
  )
}
