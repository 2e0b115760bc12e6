import { type CommandFunction, exitCodeOf } from '@pctodl/command-line'

/** What a call of a command leaves. */
export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Call a command as a shell would, and return what it left: exit code and both streams. */
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
