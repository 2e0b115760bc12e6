import path from 'node:path'
import { expect, it } from 'vitest'
import { compareTables } from '../scripts/validate/compare-tables.js'
import { validationPage } from '../scripts/validate/page.js'
import { readTables } from '../scripts/validate/table.js'

const folder = path.resolve(import.meta.dirname, '../../reference-data/files/measured')

it('the page of the validation has a plot, the errors and the worst rows of every comparison, and needs nothing else', async () => {
  const tables = readTables(folder)
  const two = ['cap_sweep_llm', 'mlperf_mig_neighbours'].map((table) => [table, tables.get(table)!] as const)
  const { comparisons } = compareTables(new Map(two))
  const rows = comparisons.map(({ table, board }) => [table, board])
  const page = await validationPage(comparisons, { head: ['table', 'board'], rows }, ['Not <compared>: nothing.'])
  expect(page.match(/<svg /g)).toHaveLength(comparisons.length)
  expect(page).not.toMatch(/(?:src|href)="(?!#)/)
  expect(page).not.toContain('<compared>')
  comparisons.forEach(({ quantity, points }, i) => {
    const section = page.slice(page.indexOf(`<section id="c${i}">`), page.indexOf(`<section id="c${i + 1}">`))
    expect(section).toContain(quantity)
    expect(section).toContain(`${points.length} values, median error`)
    // One circle for each value.
    const circles = /class="mark-symbol role-mark[^"]*"[^>]*>([\s\S]*?)<\/g>/.exec(section)?.[1] ?? ''
    expect(circles.match(/<path /g)?.length).toBe(points.length)
  })
})
