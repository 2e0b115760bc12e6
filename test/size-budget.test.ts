import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { type PackageSize, packageSizes, tokenCount } from '../scripts/package-sizes.js'

const root = path.resolve(import.meta.dirname, '..')
const budgets: Record<string, PackageSize> = JSON.parse(readFileSync(path.join(root, 'size-budget.json'), 'utf8'))

it('no package outgrows its budget; `pnpm size --write` raises one, and the commit says why', () => {
  const sizes = packageSizes(root)
  expect([...sizes.keys()].sort()).toEqual(Object.keys(budgets).sort())
  const outgrown = [...sizes].flatMap(([name, size]) =>
    (['tokens', 'exports', 'readmeWords'] as const)
      .filter((measure) => size[measure] > budgets[name]![measure])
      .map((measure) => `${name}: ${size[measure]} ${measure}, budget ${budgets[name]![measure]}`),
  )
  expect(outgrown).toEqual([])
})

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: these texts are sources
it.each([
  ['`${f(a)} of ${b}`', 8],
  ['x = `${a}`; g(h, i); y = `${`${b}`}`', 20],
  ['x = /[`"]/g; y = a! / b / c', 12],
  ['/** Documentation */ f(/* nothing */) // end', 3],
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: these texts are sources
])('counts the tokens of %s: %i', (text, tokens) => {
  expect(tokenCount(text)).toBe(tokens)
})
