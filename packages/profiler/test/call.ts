import { exitCodeOf } from '@pctodl/command-line'
import { pctodlProfile } from '../src/commands.js'

/** What a call of the command line leaves. */
export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Run the command line as a function, on a terminal that keeps what is written. */
export async function call(
  argv: readonly string[],
  onText: (text: string) => void = () => {},
  signal?: AbortSignal,
): Promise<Outcome> {
  let stdout = ''
  let stderr = ''
  const code = await exitCodeOf('pctodl-profile', pctodlProfile, argv, {
    stdout: { write: (text) => (stdout += text) },
    stderr: {
      write: (text) => {
        stderr += text
        onText(text)
      },
    },
    signal: signal ?? new AbortController().signal,
    env: {},
  })
  return { code, stdout, stderr }
}
