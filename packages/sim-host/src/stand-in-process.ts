import { type ChildProcess, spawn } from 'node:child_process'
import { realpathSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'

/**
 * A real process that stands for a simulated one, so that its pid exists and users can inspect or kill it. The process
 * is `cat` under another name. It reads from a pipe of the simulator, so it ends when the simulator ends.
 */
export class StandInProcess {
  readonly pid: number
  readonly #child: ChildProcess

  /**
   * Starts the process.
   *
   * @param onExit called if the process ends before `stop` is called
   */
  constructor(folder: string, name: string, onExit: () => void) {
    // A separate session, because an interrupt typed at the terminal is meant only for the host's command.
    this.#child = spawn(namedCat(folder, name), [], {
      argv0: name,
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    this.pid = this.#child.pid!
    this.#child.stdin?.on('error', () => {})
    this.#child.once('exit', onExit)
  }

  stop(): void {
    this.#child.removeAllListeners('exit')
    this.#child.kill()
  }
}

/**
 * Returns a link to `cat` with the given name, which process tools then show. Multi-call binaries such as BusyBox
 * choose their function by the name they are run with, so they are run without a link.
 */
function namedCat(folder: string, name: string): string {
  const cat = realpathSync('/bin/cat')
  if (basename(cat) !== 'cat') return '/bin/cat'
  const link = join(folder, name.replace(/[^\w.-]/g, '-'))
  try {
    symlinkSync(cat, link)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return link
}
