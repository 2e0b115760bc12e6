import { exitCodeOf, type Terminal } from '@pctodl/command-line'
import { pctodl } from '../src/index.js'

/** What a call of the command line leaves. */
export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Call the command line as a function. */
export async function run(...argv: string[]): Promise<Outcome> {
  const written = { stdout: '', stderr: '' }
  const collect = (name: 'stdout' | 'stderr') => ({
    write(text: string) {
      written[name] += text
    },
  })
  const terminal: Terminal = {
    stdout: collect('stdout'),
    stderr: collect('stderr'),
    signal: new AbortController().signal,
    env: process.env,
  }
  const code = await exitCodeOf('pctodl', pctodl, argv, terminal)
  return { code, ...written }
}
