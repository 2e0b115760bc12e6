import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { resultsColumns } from '@pctodl/report'
import { afterAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { benchRunner } from '../src/matrix-command.js'

const root = mkdtempSync(path.join(tmpdir(), 'bench-compare-'))
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }))

function writeRun(folder: string, run: string, throughput: readonly (number | string)[]): void {
  const file = path.join(root, folder, `${run}.csv`)
  mkdirSync(path.dirname(file), { recursive: true })
  const rows = throughput.map(
    (value, i) => `${i + 1},"[50,50]","[32,32]",1200,9501,90.00,50.00,${value},128.00,131.00,130,2026-01-01 00:00:00`,
  )
  writeFileSync(file, `${[resultsColumns.join(','), ...rows].join('\n')}\n`)
}

function compare(...argv: string[]) {
  const words = ['compare', ...argv.map((word) => (word.startsWith('--') ? word : path.join(root, word)))]
  return callCommand('bench-runner', benchRunner, words)
}

describe('bench-runner compare', () => {
  it('finds the difference that is there and none where there is none', async () => {
    const run = '3080Ti_pctodl/6_resnet50_imagenet_130W'
    const same = '3080Ti_morak/6_resnet50_imagenet_130W'
    writeRun('a', run, [10, 1000, 1001, 999, 1000, 1002])
    writeRun('b', run, [10, 1100, 1101, 1099, 1100, 1102])
    for (const folder of ['a', 'b']) writeRun(folder, same, [10, 500, 501, 499, 500])
    writeRun('a', 'A100_morak/20_resnet50_imagenet_150W', [1, 2])
    const { code, stdout } = await compare('a', 'b', '--json')
    expect(code).toBe(0)
    const { differences, onlyInA, onlyInB } = JSON.parse(stdout)
    const [other, ours] = differences
    expect(other).toMatchObject({ run: same, throughputChangePercent: 0, pValue: 1 })
    expect(ours.run).toBe(run)
    expect(ours.throughputChangePercent).toBeCloseTo(9.996, 2)
    expect(ours.pValue).toBeLessThan(1e-6)
    expect([onlyInA, onlyInB]).toEqual([['A100_morak/20_resnet50_imagenet_150W'], []])
    expect((await compare('a', 'b')).stdout).toMatch(/\+10\.00 % .*< 0\.001 \*/)
  })

  it('takes runs, not windows, as observations where there are several seeds', async () => {
    for (const [folder, shift] of [
      ['c', 0],
      ['d', 5],
    ] as const) {
      for (const [suffix, level] of [
        ['', 100],
        ['_seed2', 110],
        ['_seed3', 90],
      ] as const) {
        writeRun(folder, `A100_pctodl/20_resnet50_imagenet_150W${suffix}`, [0, level + shift, level + shift])
      }
    }
    const { differences } = JSON.parse((await compare('c', 'd', '--json')).stdout)
    expect(differences).toHaveLength(1)
    // t = 5 / sqrt(100 / 3 + 100 / 3) = 0.6124 with 4 degrees of freedom.
    expect(differences[0].pValue).toBeCloseTo(0.5734, 3)
  })

  it('names file, row and column of what is no number', async () => {
    writeRun('e', '3080Ti_pctodl/6_resnet50_imagenet_130W', [1, 'fast'])
    const { code, stderr } = await compare('e', 'e')
    expect(code).toBe(1)
    expect(stderr).toMatch(/6_resnet50_imagenet_130W\.csv: row 3, throughput_total: got 'fast'/)
  })

  it('answers folders without results with a line', async () => {
    expect(await compare('nowhere', 'a')).toMatchObject({ code: 2, stderr: expect.stringContaining('no such folder') })
    mkdirSync(path.join(root, 'empty'))
    expect(await compare('a', 'empty')).toMatchObject({ code: 1, stderr: expect.stringContaining('no results files') })
  })
})
