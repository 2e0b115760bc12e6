import { type CommandFunction, exitCodeOf } from '@pctodl/command-line'

/** Result of a command. */
export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Calls a command as a shell would, and returns its exit code and both streams. */
export async function runCommand(name: string, command: CommandFunction, argv: readonly string[]): Promise<Outcome> {
  let stdout = ''
  let stderr = ''
  const code = await exitCodeOf(name, command, [...argv], {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    signal: new AbortController().signal,
    env: {},
  })
  return { code, stdout, stderr }
}
