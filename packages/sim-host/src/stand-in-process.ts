import { type ChildProcess, spawn } from 'node:child_process'
import { realpathSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'

/**
 * A real process that represents a simulated one, so that its pid exists, can be looked up and can be killed. It is
 * `cat` under another name that waits for the end of a pipe from the simulator, so it ends whenever the simulator does.
 */
export class StandInProcess {
  readonly pid: number
  readonly #child: ChildProcess

  /** @param onExit called when it ends before `stop` */
  constructor(folder: string, name: string, onExit: () => void) {
    // A separate session: an interrupt typed at the terminal is for the command.
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
 * Process tools show the name of the executed file, so a link provides it. Multi-call binaries choose by name and get
 * no link.
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
