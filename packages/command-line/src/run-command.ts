import { PctodlError, reasonOf } from '@pctodl/platform'
import { beginCommand, endCommand, Interruption } from './endings.js'
import type { CommandFunction, Terminal } from './terminal.js'
import { UsageError } from './usage-error.js'

/**
 * Runs a command and converts errors to one line and an exit code. This applies to the project's own errors and to
 * errors of the operating system. Any other error is a defect and is thrown again.
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
      // Further errors during clean-up are reported too, because one may say that a board could not be restored.
      terminal.stderr.write(`${name}: ${reasonOf(error)}\n`)
      return error instanceof PctodlError && error.code === 'RESTORE_FAILED' ? 1 : exitCode
    }
    if (!(error instanceof PctodlError) && !isSystemError(error)) throw error
    terminal.stderr.write(`${name}: ${error.message}\n`)
    return 1
  }
}

/** Whether an error says only that the command was aborted. */
function isCausedBy(error: unknown, reason: unknown): boolean {
  return error === reason || (error instanceof Error && (error.name === 'AbortError' || error.cause === reason))
}

function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'code' in error
}

/** Runs a command as this process, with its streams, arguments and signals. Every `bin` file ends with this call. */
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
  // The exit code is set without exiting, so that standard output can drain into a pipe.
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

/** `pctodl ... | head` closes the pipe early, which is not an error. */
function endQuietlyWithoutReader(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
}
