import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { PctodlError } from '@pctodl/platform'
import { cleanEnvironment } from './trusted-file.js'

/**
 * A shell that waits for end-of-file on a pipe from the lease's owner, which comes however the owner ends. It deletes
 * an unfinished journal, because nothing was changed yet. If no journal exists, it exits; otherwise it executes the
 * program that restores the board. It needs one megabyte and no CPU time.
 */
const script = `trap '' HUP INT TERM
read -r _
rm -f "$2"
[ -e "$1" ] || exit 0
shift 2
exec "$@"`

export interface WatchdogOptions {
  readonly journalFile: string
  /** The file name of the journal while it is being written. */
  readonly unfinishedFile: string
  readonly leaseFolder: string
  readonly uuid: string
  readonly leaseId: string
  readonly libraryPath: string
}

/** Restores the board if the lease's owner ends without doing so. */
export class Watchdog {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** @throws PctodlError `WATCHDOG` if it cannot be started: then nothing may be changed */
  static async start(options: WatchdogOptions): Promise<Watchdog> {
    const child = spawn(
      '/bin/sh',
      ['-c', script, 'pctodl-gpu-watchdog', options.journalFile, options.unfinishedFile, ...restoreCommand(options)],
      {
        stdio: ['pipe', 'ignore', 'ignore'],
        // Its own session, so that Ctrl-C at the owner's terminal does not reach it.
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

  /** Close the pipe: the watchdog restores the board if the journal still exists, and ends. */
  dismiss(): void {
    this.#child.stdin?.destroy()
  }
}

function restoreCommand({ leaseFolder, uuid, leaseId, libraryPath }: WatchdogOptions): string[] {
  return [process.execPath, restoreProgram(), leaseFolder, uuid, leaseId, libraryPath]
}

/** The built restore program beside this file or, when running from sources, in the package's `dist`. */
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
