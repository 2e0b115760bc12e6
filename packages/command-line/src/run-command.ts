import { PctodlError } from '@pctodl/platform'
import { beginCommand, endCommand, Interruption } from './endings.js'
import type { CommandFunction, Terminal } from './terminal.js'
import { UsageError } from './usage-error.js'

/**
 * Call a command and turn what it throws into one line and an exit code. Errors that the family throws on purpose and
 * errors of the operating system are shown as a line; anything else is a defect and is thrown on.
 */
export async function exitCodeOf(
  name: string,
  command: CommandFunction,
  argv: readonly string[],
  terminal: Terminal,
): Promise<number> {
  try {
    return await command(argv, terminal)
  } catch (error) {
    if (error instanceof UsageError) {
      if (error.exitCode !== 0) terminal.stderr.write(`${name}: ${error.message}\nTry '${name} --help'.\n`)
      return error.exitCode
    }
    if (terminal.signal.aborted) {
      const { reason } = terminal.signal
      const { message, exitCode } = reason instanceof Interruption ? reason : new Interruption('SIGINT')
      terminal.stderr.write(`\n${name}: ${message}\n`)
      if (isCausedBy(error, reason)) return exitCode
      // What else went wrong on the way out must not pass in silence: above all a board that could not be put back.
      terminal.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`)
      return error instanceof PctodlError && error.code === 'RESTORE_FAILED' ? 1 : exitCode
    }
    if (!(error instanceof PctodlError) && !isSystemError(error)) throw error
    terminal.stderr.write(`${name}: ${error.message}\n`)
    return 1
  }
}

/** Whether an error only says that the command was aborted. */
function isCausedBy(error: unknown, reason: unknown): boolean {
  return error === reason || (error instanceof Error && (error.name === 'AbortError' || error.cause === reason))
}

function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'code' in error
}

/** Run a command as this process: its streams, its arguments, its signals. The last line of every `bin`. */
export function runCommand(
  name: string,
  command: CommandFunction,
  argv: readonly string[] = process.argv.slice(2),
): Promise<void> {
  endQuietlyWithoutReader(process.stdout)
  const terminal: Terminal = {
    stdout: process.stdout,
    stderr: process.stderr,
    signal: beginCommand(),
    env: process.env,
  }
  // Setting the code instead of exiting lets standard output drain into a pipe.
  return exitCodeOf(name, command, argv, terminal)
    .then(
      (code) => {
        process.exitCode = code
      },
      (error: unknown) => {
        process.stderr.write(`${name}: internal error: ${error instanceof Error ? error.stack : String(error)}\n`)
        process.exitCode = 1
      },
    )
    .finally(endCommand)
}

/** `pctodl ... | head` closes the pipe early; that is the reader's right and no error. */
function endQuietlyWithoutReader(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
}
