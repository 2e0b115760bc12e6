/**
 * Prints the size of each package against `size-budget.json`: `pnpm size`.
 *
 * With `--write`, the present sizes, rounded up, become the budgets; the commit must say why.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { scriptOptions } from './evaluation/script-options.js'
import { type PackageSize, packageSizes } from './package-sizes.js'

const { write } = scriptOptions(import.meta.filename, { write: false })
const root = path.resolve(import.meta.dirname, '..')
const budgetFile = path.join(root, 'size-budget.json')
const sizes = packageSizes(root)

if (write) {
  const up = (value: number, step: number) => Math.ceil(value / step) * step
  const budgets = [...sizes].map(([name, { tokens, exports, readmeWords }]) => [
    name,
    { tokens: up(tokens, 100), exports, readmeWords: up(readmeWords, 50) },
  ])
  writeFileSync(budgetFile, `${JSON.stringify(Object.fromEntries(budgets), null, 2)}\n`)
}
const budgets: Record<string, PackageSize> = JSON.parse(readFileSync(budgetFile, 'utf8'))
const measures = { tokens: 'tokens', exports: 'exports', 'README words': 'readmeWords' } as const
const table = [...sizes].map(([name, size]) => [
  name,
  Object.fromEntries(
    Object.entries(measures).map(([title, of]) => [title, `${size[of]} of ${budgets[name]?.[of] ?? 0}`]),
  ),
])
console.table(Object.fromEntries(table))
const totals = Object.values(measures).map((of) => [...sizes.values()].reduce((sum, size) => sum + size[of], 0))
console.log(`${totals[0]} tokens, ${totals[1]} exports, ${totals[2]} words in READMEs`)
