import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { benchRunner } from '../src/matrix-command.js'

const folder = mkdtempSync(path.join(tmpdir(), 'bench-report-'))

const call = (...argv: string[]) => callCommand('bench-runner', benchRunner, argv)

beforeAll(async () => {
  const matrix =
    '--gpu all --task-id 6 13 20 --algorithm pctodl,batchdvfs,powercap --iterations 8 --seeds 2 --jobs 1 --save-summary'
  expect((await call(...matrix.split(' '), '--result-dir', folder)).code).toBe(0)
})

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

describe('summary.json', () => {
  it('names files from where it lies, so that a folder can be moved', () => {
    const { files } = JSON.parse(readFileSync(path.join(folder, 'summary.json'), 'utf8')) as { files: string[] }
    expect(files.length).toBeGreaterThanOrEqual(18)
    for (const file of files) {
      expect(path.isAbsolute(file), file).toBe(false)
      expect(existsSync(path.join(folder, file)), file).toBe(true)
    }
    expect(readFileSync(path.join(folder, 'summary.json'), 'utf8')).not.toContain(folder)
  })
})

describe('bench-runner report', () => {
  it('writes page, Markdown, tables and pictures, with oracle, intervals and reasons of verdicts', async () => {
    const { code, stdout } = await call('report', folder, '--pictures', '--json')
    expect(code).toBe(0)
    const { files } = JSON.parse(stdout) as { files: string[] }
    for (const file of files) expect(existsSync(file), file).toBe(true)
    expect(files.map((file) => path.extname(file))).toEqual(
      expect.arrayContaining(['.html', '.md', '.csv', '.svg', '.png']),
    )
    const markdown = readFileSync(path.join(folder, 'report/report.md'), 'utf8')
    // The first table of all.
    const first = markdown.split('## ')[1]!
    expect(first).toMatch(/^Against the best other algorithm of each task\n/)
    expect(first).toMatch(
      /\| 3080Ti \| 13 resnet50 \| 170 W \| [\d.]+ \| [\d.]+ \| \w+ \| [\d.]+ \| [\d.]+ \| [\d.]+ \| range [\d.]+ to [\d.]+ \| win \|/,
    )
    expect(markdown).toMatch(/### Task 6: resnet50 on imagenet, 3080Ti, 130 W, oracle \d+ images\/s/)
    expect(markdown).toMatch(/\| pctodl \| [\d.]+ \| [\d.]+ \| range [\d.]+ to [\d.]+ \| [\d.]+ \|/)
    expect(markdown).toMatch(/\n- batchdvfs: in \d of 2 runs, e\.g\. 1 s average more than 1 % above the cap/)
    const [head, ...rows] = readFileSync(path.join(folder, 'report/tasks.csv'), 'utf8').trim().split('\n')
    expect(head!.split(',').slice(0, 7)).toEqual([
      'board',
      'task',
      'model',
      'dataset',
      'cap_w',
      'oracle_images_per_s',
      'algorithm',
    ])
    expect(rows).toHaveLength(9)
  })

  it('reports a part of a result folder, and says what is missing or damaged', async () => {
    const part = path.join(folder, '3080Ti_pctodl')
    expect(await call('report', part, '--no-oracle')).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync(path.join(part, 'report/report.md'), 'utf8')).toContain('### Task 6: resnet50')
    const copy = mkdtempSync(path.join(tmpdir(), 'bench-damaged-'))
    cpSync(path.join(folder, '3080Ti_pctodl'), path.join(copy, '3080Ti_pctodl'), { recursive: true })
    for (const text of ['{', '[]', '{"a": 5}']) {
      writeFileSync(path.join(copy, 'oracle.json'), text)
      const stderr = expect.stringMatching(/oracle\.json.*expected an earlier oracle; delete the file/)
      expect(await call('report', copy)).toMatchObject({ code: 1, stderr })
    }
    const manifest = path.join(copy, '3080Ti_pctodl/6_resnet50_imagenet_130W.manifest.json')
    const text = readFileSync(manifest, 'utf8')
    // Names in a manifest cannot lead to files outside of the report.
    rmSync(manifest.replace('.manifest', '_seed2.manifest'))
    writeFileSync(manifest, text.replace('"dataset": "imagenet"', `"dataset": "${'../'.repeat(5)}imagenet"`))
    const { stdout } = await call('report', copy, '--no-oracle', '--pictures', '--json')
    const { files } = JSON.parse(stdout) as { files: string[] }
    expect(files.filter((file) => !file.startsWith(path.join(copy, 'report', path.sep)))).toEqual([])
    writeFileSync(manifest, text.replace('"board": "3080Ti"', '"board": "../3080Ti"'))
    const stderr = expect.stringMatching(/manifest\.json: cell\.task\.board/)
    expect(await call('report', copy, '--no-oracle')).toMatchObject({ code: 1, stderr })
    writeFileSync(manifest, text)
    rmSync(path.join(copy, '3080Ti_pctodl/6_resnet50_imagenet_130W.record.json'))
    expect(await call('report', copy, '--no-oracle')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/6_resnet50_imagenet_130W\.record\.json.*the record of a run; run it again/),
    })
    rmSync(copy, { recursive: true })
  })

  it('answers a folder without results with a line', async () => {
    expect(await call('report', path.join(folder, 'nowhere'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no such folder'),
    })
    const empty = mkdtempSync(path.join(tmpdir(), 'bench-empty-'))
    expect(await call('report', empty)).toMatchObject({ code: 1, stderr: expect.stringContaining('no finished runs') })
    rmSync(empty, { recursive: true })
  })
})
