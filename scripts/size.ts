/**
 * Prints the size of each package against `size-budget.json`: `pnpm size`.
 *
 * With `--write`, the present sizes, rounded up, become the budgets; the commit must say why.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type PackageSize, packageSizes } from './package-sizes.js'

const root = path.resolve(import.meta.dirname, '..')
const budgetFile = path.join(root, 'size-budget.json')
const sizes = packageSizes(root)

if (process.argv.includes('--write')) {
  const up = (value: number, step: number) => Math.ceil(value / step) * step
  const budgets = [...sizes].map(([name, { tokens, exports, readmeWords }]) => [
    name,
    { tokens: up(tokens, 100), exports, readmeWords: up(readmeWords, 50) },
  ])
  writeFileSync(budgetFile, `${JSON.stringify(Object.fromEntries(budgets), null, 2)}\n`)
}
const budgets: Record<string, PackageSize> = JSON.parse(readFileSync(budgetFile, 'utf8'))
const against = (size: number, budget = 0) => `${size} of ${budget}`
console.table(
  Object.fromEntries(
    [...sizes].map(([name, { tokens, exports, readmeWords }]) => {
      const budget = budgets[name]
      return [
        name,
        {
          tokens: against(tokens, budget?.tokens),
          exports: against(exports, budget?.exports),
          'README words': against(readmeWords, budget?.readmeWords),
        },
      ]
    }),
  ),
)
const total = (of: (size: PackageSize) => number) => [...sizes.values()].reduce((sum, size) => sum + of(size), 0)
console.log(
  `${total(({ tokens }) => tokens)} tokens, ${total(({ exports }) => exports)} exports, ${total(({ readmeWords }) => readmeWords)} words in READMEs`,
)
