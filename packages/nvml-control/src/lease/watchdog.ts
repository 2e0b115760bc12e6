import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { PctodlError } from '@pctodl/platform'
import { cleanEnvironment } from './trusted-file.js'

/**
 * Shell script of the watchdog. It waits for a line from the lease's owner, or until the kernel closes the pipe because
 * the owner has ended. Without a line, it deletes the owner's unfinished journal, because the board is changed only
 * after the journal is finished. If there is a journal, it runs the program that restores the board. While it waits, it
 * uses about one megabyte and no CPU time.
 */
const script = `trap '' HUP INT TERM
read -r _ || rm -f "$1".*."$2".unfinished
[ -e "$1" ] || exit 0
shift 2
exec "$@"`

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
   * @param restoreArguments arguments of the restore program: lease folder, UUID, id of the lease, NVML's path
   * @throws PctodlError `WATCHDOG` if it cannot be started; the caller must then not change the board
   */
  static async start(journalFile: string, restoreArguments: readonly string[]): Promise<Watchdog> {
    const restore = [process.execPath, restoreProgram(), ...restoreArguments]
    const child = spawn('/bin/sh', ['-c', script, 'pctodl-gpu-watchdog', journalFile, `${process.pid}`, ...restore], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Start a new session, so that Ctrl-C at the owner's terminal does not reach the watchdog.
      detached: true,
      cwd: '/',
      env: cleanEnvironment(),
    })
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

  /** Ends the watchdog. If there is still a journal, it restores the board before it exits. */
  dismiss(): void {
    this.#child.stdin?.end('\n')
  }
}

/** The restore program is beside this file or, when running from source, in the package's `dist`. */
function restoreProgram(): string {
  const here = path.dirname(fileURLToPath(import.meta.url))
  const places = [here, path.join(here, '..', '..', 'dist')].map((folder) => path.join(folder, 'restore-journal.js'))
  const found = places.find((file) => existsSync(file))
  if (found) return found
  const remedy = 'a bundler must copy it beside the bundle; in this repository, build @pctodl/nvml-control first'
  throw new PctodlError('WATCHDOG', `the program that restores a board, ${places[0]}, is missing: ${remedy}`)
}
