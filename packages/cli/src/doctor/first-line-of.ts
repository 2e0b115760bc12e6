import { execFile } from 'node:child_process'

/** What a program answered: its first line, or why there is none. */
export type Answer =
  | { readonly kind: 'answered'; readonly line: string }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'failed'; readonly reason: string }

/** Run a program that tells about itself, and take the first line of what it says. Never rejects. */
export function firstLineOf(program: string, args: readonly string[], signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve) => {
    const settings = { timeout: 30_000, signal, env: { ...process.env, LC_ALL: 'C' } }
    const child = execFile(program, [...args], settings, (error, stdout, stderr) => {
      const said = `${stdout}\n${stderr}`.trim().split('\n')
      if (error === null) resolve({ kind: 'answered', line: said[0]! })
      // EACCES: also where PATH has a folder that this user may not enter, as root's own after a change of user.
      else if (error.code === 'ENOENT' || error.code === 'EACCES') resolve({ kind: 'not-found' })
      // The last line of a Python traceback is the one that says what happened.
      else resolve({ kind: 'failed', reason: said.at(-1) || error.message })
    })
    child.stdin?.end()
  })
}
