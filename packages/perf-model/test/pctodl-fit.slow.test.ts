import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { exitCodeOf } from '@pctodl/command-line'
import { loadPerfModel, PerfModel } from '@pctodl/perf-model'
import { formatPlatformFile, formatTraceCsv, type GpuSpec } from '@pctodl/platform'
import { afterAll, describe, expect, it } from 'vitest'
import { findTraceFiles } from '../src/cli/trace-files.js'
import { fit, predict } from '../src/commands.js'
import { runCommand } from './run-command.js'
import { measuredRows } from './synthetic-rows.js'

const folder = mkdtempSync(path.join(os.tmpdir(), 'fit-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const truth = loadPerfModel('A100')
const trace = path.join(folder, 'A100.csv')
const text = formatTraceCsv(measuredRows(truth, 6, 150))
writeFileSync(trace, text)

const call = (...argv: string[]) => runCommand('pctodl fit', fit, argv)
const usual = ['--platform', 'A100', '--params', path.join(folder, 'fitted')]

describe('pctodl fit', () => {
  it('writes parameters that predict, a report and a picture of the residuals', async () => {
    const plot = path.join(folder, 'residuals.svg')
    const { code, stdout, stderr } = await call(trace, ...usual, '--folds', '2', '--plot', plot)
    expect(code, stderr).toBe(0)
    expect(stderr).toBe('150 rows of 1 files\nfit 1 of 3\nfit 2 of 3\nfit 3 of 3\n')
    expect(stdout).toMatch(/^150 rows in \d+ groups; 0 failed rows left out\n/)
    expect(stdout).toMatch(/^throughput +all +150 +\d\.\d\d % +\d+\.\d\d %$/m)
    const file = path.join(folder, 'fitted', 'A100.json')
    expect(stdout).toContain(`Written: ${file}, ${plot}\n`)
    expect(readFileSync(plot, 'utf8')).toContain('Residuals of the fit of A100')
    const model = PerfModel.load(JSON.parse(readFileSync(file, 'utf8')))
    const tenants = [{ model: 'resnet50', mpsPercent: 40, batchSize: 16 }]
    const configuration = { tenants, smClockMhz: 1200, memClockMhz: 1215 }
    expect(model.predict(configuration).powerW / truth.predict(configuration).powerW).toBeCloseTo(1, 1)
    expect(model.parameters.provenance.source).toBe(`traces ${trace}`)
  })

  it('fits the networks asked for, and reports as JSON', async () => {
    const { code, stdout } = await call(trace, ...usual, '--model', 'ResNet50', '--folds', '0', '--json')
    expect(code).toBe(0)
    const report = JSON.parse(stdout)
    expect(report.rows).toBeLessThan(150)
    expect(report.heldOutErrors).toEqual([])
    expect(report.inSampleErrors[0]).toMatchObject({ quantity: 'throughput', rows: 'all', count: report.rows })
    const written = JSON.parse(readFileSync(report.files[0], 'utf8'))
    expect(written.networks.map((network: { name: string }) => network.name)).toEqual(['resnet50'])
  })

  it('counts failed rows, and rows without a tenant', async () => {
    const file = path.join(folder, 'holes.csv')
    const [header, ...lines] = text.trim().split('\n')
    const zeros = 'resnet50,"[50, 50]","[256, 256]",,1215,0,0,0,0,0,0,,,,,'
    const idle = 'static,,,1410,1215,1410.0,0,0,0,45.10,45.20,,,,,'
    writeFileSync(file, [header, idle, zeros, ...lines.slice(0, 60), idle].join('\n'))
    const { code, stdout } = await call(file, ...usual, '--folds', '0')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^60 rows in \d+ groups; 1 failed rows left out, 2 rows without a tenant left out\n/)
    writeFileSync(file, [header, idle, zeros, lines[0]!.replace(/"\[\d+/, '"[-5')].join('\n'))
    const broken = await call(file, ...usual)
    expect(broken.code).toBe(1)
    expect(broken.stderr).toContain(`${file}: trace CSV, row 3, column 'p_list'`)
    writeFileSync(file, [header, idle, ...lines.slice(0, 2), lines[2]!.replaceAll(',1215,', ',810,')].join('\n'))
    const otherClock = await call(file, ...usual)
    expect(otherClock.code).toBe(1)
    expect(otherClock.stderr).toContain(`${file}: row 4.memClockMhz: got 810`)
  })

  it('hears an interrupt between two folds, and writes nothing', async () => {
    const interrupted = new AbortController()
    const params = path.join(folder, 'interrupted')
    const silent = { write: () => true }
    const code = await exitCodeOf('pctodl fit', fit, [trace, '--platform', 'A100', '--params', params], {
      stdout: silent,
      stderr: { write: (line) => void (line.startsWith('fit 1') && interrupted.abort()) },
      signal: interrupted.signal,
      env: {},
    })
    expect(code).toBe(130)
    expect(() => readFileSync(path.join(params, 'A100.json'))).toThrowError('ENOENT')
  })

  it.each<[string, number, string[]]>([
    ['name the board with --gpu', 2, [trace]],
    ['leave --step out', 2, [trace, ...usual, '--step', 'power']],
    ['--folds: 0, or at least 2', 2, [trace, ...usual, '--folds', '1']],
    ['--unlocked-clock', 2, [trace, ...usual, '--unlocked-clock', 'guessed']],
    ['no row that fits', 1, [trace, ...usual, '--mem-freq', '810']],
    ['no row that fits', 1, [trace, ...usual, '--model', 'vgg19']],
    ['nowhere.csv: cannot be read', 1, [path.join(folder, 'nowhere.csv'), ...usual]],
  ])('says %s and ends with %d', async (problem, expected, argv) => {
    const { code, stdout, stderr } = await call(...argv)
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
    expect(stderr).toContain(problem)
  })
})

describe('findTraceFiles', () => {
  it("takes the files of the Python code's layout whose names fit", () => {
    const root = path.join(folder, 'layout')
    for (const name of ['mps_profile', 'scale_profile']) mkdirSync(path.join(root, name), { recursive: true })
    const all = [
      'mps_profile/mps_results.csv',
      'mps_profile/mps_results_caltech256_a100.csv',
      'mps_profile/mps_results_imagenet.csv',
      'mps_profile/mps_results_imagenet_3080ti.csv',
      'mps_profile/mps_results_imagenet_a100.csv',
      'scale_profile/sweep_results.csv',
      'scale_profile/sweep_results_3080ti.csv',
      'scale_profile/sweep_results_a100.csv',
    ]
    for (const name of all) writeFileSync(path.join(root, name), '')
    const found = (dataset?: string, platform?: string) =>
      findTraceFiles(root, { dataset, platform }).map((file) => path.relative(root, file))
    expect(found()).toEqual(all)
    expect(found('imagenet', 'A100')).toEqual([all[4], all[5], all[7]])
    expect(found('caltech256', '3080Ti')).toEqual([all[5], all[6]])
    expect(findTraceFiles(path.join(root, 'elsewhere'), {})).toEqual([])
  })
})

describe('a board that no release knows', () => {
  const spec: GpuSpec = { ...truth.spec, key: 'A100-lab', name: 'A100 of the lab', aliases: ['lab'] }
  const file = path.join(folder, 'board.json')
  writeFileSync(file, formatPlatformFile(spec))
  const params = path.join(folder, 'of-the-lab')
  const asked = ['--gpu', file, '--params', params]

  it('is fitted by its platform file, and predicted by the same', async () => {
    const fitted = await call(trace, ...asked, '--folds', '0', '--starts', '1')
    expect(fitted.code, fitted.stderr).toBe(0)
    const json: unknown = JSON.parse(readFileSync(path.join(params, 'A100-lab.json'), 'utf8'))
    expect(PerfModel.load(json, spec).spec).toEqual(spec)
    const tenants = ['--model', 'resnet50', '--shares', '40', '--batches', '16', '--sm-clock', '1200']
    const predicted = await runCommand('pctodl predict', predict, [...tenants, ...asked, '--json'])
    expect(predicted.code, predicted.stderr).toBe(0)
    const { board, prediction } = JSON.parse(predicted.stdout)
    expect(board).toBe('A100-lab')
    const expected = truth.predict({
      tenants: [{ model: 'resnet50', mpsPercent: 40, batchSize: 16 }],
      smClockMhz: 1200,
      memClockMhz: 1215,
    })
    expect(prediction.powerW / expected.powerW).toBeCloseTo(1, 1)
  })

  it('is refused where its file is missing or wrong, and where none is given', async () => {
    expect(await call(trace, '--params', params)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--gpu'),
    })
    const missing = path.join(folder, 'nowhere.json')
    expect(await call(trace, '--gpu', missing)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(missing),
    })
    const wrong = path.join(folder, 'wrong.json')
    writeFileSync(wrong, formatPlatformFile({ ...spec, smCount: 1.5 }))
    expect(await call(trace, '--gpu', wrong)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('spec.smCount'),
    })
  })
})
