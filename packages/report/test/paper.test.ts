import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type ReportedRun, reportContent, summarizeRun, writePaper } from '../src/index.js'
import { asLatex, tableAsLatex } from '../src/paper/latex-table.js'
import { fixedSetting, syntheticRuns } from './synthetic-runs.js'

const folder = mkdtempSync(path.join(tmpdir(), 'report-paper-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const runs = [6, 13].flatMap((id) =>
  syntheticRuns({ ...fixedSetting, durationMs: 30_000, board: '3080Ti', taskId: id }).map(
    (record): ReportedRun => ({
      task: { board: '3080Ti', id, model: 'resnet50', dataset: 'imagenet', capsW: [180], stem: `3080Ti_${id}` },
      summary: summarizeRun(record),
      repetition: 1,
      record: () => record,
      madeBy: 'a test',
    }),
  ),
)

describe('what a paper takes from a report', () => {
  it('is figures as wide as columns, and tables, the same each time', async () => {
    const content = reportContent({ runs })
    const files = await writePaper(content, folder)
    const names = files.map((file) => path.basename(file))
    for (const stem of ['standings', 'algorithms-3080Ti']) {
      for (const widthCm of [8.5, 17.5]) {
        expect(names).toContain(`${stem}-${widthCm}cm.pdf`)
        const pdf = readFileSync(path.join(folder, `${stem}-${widthCm}cm.pdf`), 'latin1')
        const [, width] = /\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/.exec(pdf)!
        expect(Number(width) / (72 / 2.54)).toBeCloseTo(widthCm, 3)
        expect(pdf).toContain('DejaVuSans')
      }
    }
    expect(names).toEqual(expect.arrayContaining(['headline.tex', 'standings.tex']))
    const before = files.map((file) => readFileSync(file, 'latin1'))
    await writePaper(content, folder)
    // The name of a PDF's trailer apart, which is drawn from its content and the clock.
    const same = (text: string) => text.replaceAll(/\/ID \[[^\]]*\]/g, '')
    expect(files.map((file) => same(readFileSync(file, 'latin1')))).toEqual(before.map(same))
  })

  it('sets whatever is in a table', () => {
    expect(asLatex('a_b & 5 % \\ {x} ~ ^ # $')).toBe(
      'a\\_b \\& 5 \\% \\textbackslash{} \\{x\\} \\textasciitilde{} \\textasciicircum{} \\# \\$',
    )
    const table = { head: ['algorithm', 'ratio'], rows: [['x_y', '1.02']] }
    const tex = tableAsLatex(table, 'A 5 % table', 'tab:a')
    expect(tex).toContain('\\begin{tabular}{lr}')
    expect(tex).toContain('    x\\_y & 1.02 \\\\')
    expect(tex.match(/\\(?:top|mid|bottom)rule/g)).toHaveLength(3)
  })
})
