import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parsePerfModelParameters } from '../src/parameters.js'

const home = join(import.meta.dirname, '..')
const begin = '<!-- accuracy: written by scripts/fit-shipped-parameters.ts -->'
const end = '<!-- /accuracy -->'

/** Put the held-out errors of the parameter files into the README's table. */
export function updateAccuracyTable(): void {
  const files = readdirSync(join(home, 'params')).map((name) => readFileSync(join(home, 'params', name), 'utf8'))
  const parameters = files.map((text) => parsePerfModelParameters(JSON.parse(text)))
  const boards = parameters.map((entry) => entry.board)
  const errors = parameters.map((entry) => entry.provenance.heldOutErrors)
  const overall = errors[0]!.filter(({ rows }) => rows === 'all')
  const lines = overall.map(({ quantity, unit }) => {
    const cells = errors.map((list) => list.find((entry) => entry.quantity === quantity && entry.rows === 'all'))
    const shown = cells.map((cell) => (cell ? `${cell.median.toFixed(1)} / ${cell.p95.toFixed(1)}` : ''))
    return `| ${quantity}, ${unit} | ${shown.join(' | ')} |`
  })
  const table = [`| quantity | ${boards.join(' | ')} |`, `|---|${'---|'.repeat(boards.length)}`, ...lines]
  const file = join(home, 'README.md')
  const readme = readFileSync(file, 'utf8')
  const from = readme.indexOf(begin) + begin.length
  const to = readme.indexOf(end)
  writeFileSync(file, `${readme.slice(0, from)}\n${table.join('\n')}\n${readme.slice(to)}`)
}
