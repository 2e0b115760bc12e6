import { readFileSync } from 'node:fs'

/** For whom a reason to skip is allowed. */
type Who = 'anybody' | 'user'

interface AllowedSkip {
  readonly most: number
  readonly who: Who
  readonly reason: string
}

/**
 * How many tests may skip for each reason, from lines such as
 *
 *   3 anybody needs a moon
 *   40 user   needs root
 *
 * What is allowed to `user` root has no excuse for. Lines that begin with `#` are comments.
 *
 * @throws where a line says something else
 */
export function allowedSkips(text: string, isRoot: boolean): Map<string, number> {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))
  const entries = lines.map(entryOf).filter(({ who }) => who === 'anybody' || !isRoot)
  return new Map(entries.map(({ reason, most }) => [reason, most]))
}

/** Of the file that `PCTODL_ALLOWED_SKIPS` names; undefined where it names none: then anything may skip. */
export function allowedSkipsHere(): Map<string, number> | undefined {
  const file = process.env['PCTODL_ALLOWED_SKIPS']
  return file ? allowedSkips(readFileSync(file, 'utf8'), process.geteuid?.() === 0) : undefined
}

function entryOf(line: string): AllowedSkip {
  const [, most, who, reason] = /^(\d+)\s+(anybody|user)\s+(.+)$/.exec(line.trim()) ?? []
  if (reason === undefined) {
    throw new Error(`'${line}' is no allowed skip; write how many tests, 'anybody' or 'user', and the reason they give`)
  }
  return { most: Number(most), who: who as Who, reason }
}
