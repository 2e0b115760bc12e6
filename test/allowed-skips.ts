import { readFileSync } from 'node:fs'

/**
 * Reads how many tests may skip for each reason. Each line gives the number, the users and the reason, e.g.
 *
 *   3 anybody needs a moon
 *   40 user   needs root
 *
 * Entries for `user` do not apply to root. Lines that begin with `#` are comments.
 *
 * @throws for an invalid line
 */
export function allowedSkips(text: string, isRoot: boolean): Map<string, number> {
  const allowed = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, most, who, reason] = /^(\d+)\s+(anybody|user)\s+(.+)$/.exec(line.trim()) ?? []
    if (reason === undefined) {
      throw new Error(
        `'${line}' is no allowed skip; write how many tests, 'anybody' or 'user', and the reason they give`,
      )
    }
    if (who === 'anybody' || !isRoot) allowed.set(reason, Number(most))
  }
  return allowed
}

/**
 * Reads the file that `PCTODL_ALLOWED_SKIPS` names. Returns undefined if the variable is not set; any test may then
 * skip.
 */
export function allowedSkipsHere(): Map<string, number> | undefined {
  const file = process.env['PCTODL_ALLOWED_SKIPS']
  return file ? allowedSkips(readFileSync(file, 'utf8'), process.geteuid?.() === 0) : undefined
}
