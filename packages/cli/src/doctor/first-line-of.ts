import { execFile } from 'node:child_process'

/** First line of a program's output, or why there is none. */
export type Answer =
  | { readonly kind: 'answered'; readonly line: string }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'failed'; readonly reason: string }

/** Runs a program, e.g. with `--version`, and returns the first line of its output. Never rejects. */
export function firstLineOf(program: string, args: readonly string[], signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve) => {
    const settings = { timeout: 30_000, signal, env: { ...process.env, LC_ALL: 'C' } }
    const child = execFile(program, [...args], settings, (error, stdout, stderr) => {
      const said = `${stdout}\n${stderr}`.trim().split('\n')
      if (error === null) resolve({ kind: 'answered', line: said[0]! })
      // EACCES also occurs if PATH contains a folder that this user may not enter, e.g. root's after a change of user.
      else if (error.code === 'ENOENT' || error.code === 'EACCES') resolve({ kind: 'not-found' })
      // The last line of a Python traceback is the error message.
      else resolve({ kind: 'failed', reason: said.at(-1) || error.message })
    })
    child.stdin?.end()
  })
}
