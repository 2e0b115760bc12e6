import { createHash } from 'node:crypto'
import path from 'node:path'
import { expect } from 'vitest'

/** Any value as JSON with seven digits, which is what processors and versions of Node.js agree on. */
export function said(value: unknown, digits = 7): string {
  const seen = (key: string, each: unknown): unknown => {
    if (typeof each === 'function' || key === 'elapsedMs') return undefined
    if (ArrayBuffer.isView(each)) return [...(each as Float64Array)]
    return typeof each === 'number' ? (Number.isFinite(each) ? Number(each.toPrecision(digits)) : String(each)) : each
  }
  return JSON.stringify(value, seen) ?? 'undefined'
}

/** Short for a value of which nobody wants to read each number. */
export function digest(value: unknown, digits?: number): string {
  return createHash('sha256').update(said(value, digits)).digest('hex').slice(0, 10)
}

/** What was said is what is stored; a change on purpose stores the new lines with `pnpm unit test/contract/same- -u`. */
export async function expectStored(name: string, lines: readonly string[]): Promise<void> {
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(path.join(import.meta.dirname, 'stored', `${name}.txt`))
}

/** What was made, or why it was not. */
export async function orError<T>(make: () => Promise<T> | T, lineOf: (made: T) => string): Promise<string> {
  try {
    return lineOf(await make())
  } catch (error) {
    return `${(error as { code?: string }).code}: ${(error as Error).message}`
  }
}
