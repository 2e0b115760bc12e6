import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { PctodlError } from '@pctodl/platform'
import { cleanEnvironment } from './trusted-file.js'

/**
 * Shell script of the watchdog. It waits for a line from the lease's owner, or until the kernel closes the pipe because
 * the owner has ended. Without a line it deletes the owner's unfinished journal, before which nothing was changed. If
 * there is a journal, it runs the program that restores the board. While it waits, it uses about one megabyte and no CPU
 * time.
 */
const script = `trap '' HUP INT TERM
read -r _ || rm -f "$1".*."$2".unfinished
[ -e "$1" ] || exit 0
shift 2
exec "$@"`

export interface WatchdogOptions {
  readonly journalFile: string
  /** Arguments of the program that restores the board. */
  readonly restore: readonly [leaseFolder: string, uuid: string, leaseId: string, libraryPath: string]
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
  static async start({ journalFile, restore }: WatchdogOptions): Promise<Watchdog> {
    const child = spawn(
      '/bin/sh',
      [
        '-c',
        script,
        'pctodl-gpu-watchdog',
        journalFile,
        `${process.pid}`,
        process.execPath,
        restoreProgram(),
        ...restore,
      ],
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
   * Tells the watchdog that the lease has ended, so that it exits. If there is still a journal, the watchdog restores
   * the board first.
   */
  dismiss(): void {
    this.#child.stdin?.end('\n')
  }
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
