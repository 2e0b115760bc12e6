import { type CommandFunction, exitCodeOf, type Terminal } from '../packages/command-line/src/index.js'

/** What a call of a command leaves. */
export interface Answer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** Default: nothing. */
  readonly env?: Terminal['env']
  /** Whether standard error is a terminal, of 60 characters a line. Default false. */
  readonly isTTY?: boolean
  /** Told what is written to standard error, when it is. */
  readonly onError?: (text: string) => void
}

/** Call a command within this process, as a shell would call its program. */
export async function callCommand(
  name: string,
  command: CommandFunction,
  argv: readonly string[],
  { signal = new AbortController().signal, env = {}, isTTY = false, onError = () => {} }: CallOptions = {},
): Promise<Answer> {
  let stdout = ''
  let stderr = ''
  const code = await exitCodeOf(name, command, argv, {
    stdout: { write: (text) => (stdout += text) },
    stderr: {
      write: (text) => {
        stderr += text
        onError(text)
      },
      ...(isTTY ? { isTTY, columns: 60 } : {}),
    },
    signal,
    env,
  })
  return { code, stdout, stderr }
}
