import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { loadPerfModel, shippedParameters } from '@pctodl/perf-model'
import { formatTraceCsv } from '@pctodl/platform'
import { afterAll, describe, expect, it } from 'vitest'
import { predict } from '../src/commands.js'
import { runCommand } from './run-command.js'
import { measuredRows } from './synthetic-rows.js'

const folder = mkdtempSync(path.join(os.tmpdir(), 'predict-'))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

const call = (...argv: string[]) => runCommand('pctodl predict', predict, argv)
const usual = ['--platform', '3080Ti', '--model', 'resnet50', '--p', '50', '25', '--b', '16', '16', '--f', '1500']

describe('pctodl predict', () => {
  it('prints the totals, and each tenant', async () => {
    const { code, stdout, stderr } = await call(...usual)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Board 3080Ti, memory 9501 MHz, SM 1500 MHz\n/)
    expect(stdout).toMatch(/^Throughput +\d+\.\d\d \+- \d+ samples\/s$/m)
    expect(stdout).toMatch(/^Power +\d+\.\d\d \+- \d+\.\d W$/m)
    expect(stdout.match(/^resnet50 +\d\d % +16 +\d+\.\d +\d+\.\d ms +\d+\.\d ms$/gm)).toHaveLength(2)
    expect(stdout).not.toContain('outside the profile')
  })

  it('gives as JSON what the model predicts, for several networks and under aliases', async () => {
    const { stdout } = await call(
      ...['--platform', 'NVIDIA GeForce RTX 3080 Ti', '--model', 'maxvit', 'mnasnet', '--p', '60', '40'],
      ...['--b', '8', '32', '--f', '1200', '--mem-freq', '5001', '--json'],
    )
    const tenants = [
      { model: 'maxvit_t', mpsPercent: 60, batchSize: 8 },
      { model: 'mnasnet1_0', mpsPercent: 40, batchSize: 32 },
    ]
    const configuration = { tenants, smClockMhz: 1200, memClockMhz: 5001 }
    const { prediction, domain } = JSON.parse(stdout)
    expect(JSON.stringify(prediction)).toBe(JSON.stringify(loadPerfModel('3080Ti').predict(configuration)))
    expect(stdout).toBe(`${JSON.stringify(JSON.parse(stdout), null, 2)}\n`)
    expect(domain).toMatchObject({ inside: true, outside: [] })
  })

  it('says what lies outside the profile', async () => {
    const list = (value: string) => Array<string>(40).fill(value)
    const { code, stdout } = await call(
      '--platform',
      'A100',
      '--model',
      'vgg19',
      '--p',
      ...list('2'),
      '--b',
      ...list('3'),
    )
    expect(code).toBe(0)
    expect(stdout).toMatch(/outside the profile: tenants\.length is 40, measured were 1 to 20/)
  })

  it('reads parameters from a folder, and lists those that are there when one is missing', async () => {
    writeFileSync(path.join(folder, 'A100.json'), JSON.stringify(shippedParameters['A100']))
    const own = await call('--platform', 'a100', '--model', 'resnet50', '--p', '50', '--b', '16', '--params', folder)
    expect(own.code).toBe(0)
    expect(own.stdout).toContain(`Parameters: ${folder}\n`)
    const missing = await call(...usual, '--params', folder)
    expect(missing).toEqual({
      code: 1,
      stdout: '',
      stderr: "pctodl predict: unknown parameter set '3080Ti'; known: A100\n",
    })
    const shipped = await call('--platform', 'V100', '--model', 'resnet50', '--p', '50', '--b', '16')
    expect(shipped).toMatchObject({ code: 2, stdout: '' })
    expect(shipped.stderr).toContain("unknown parameter set 'V100'; known: 3080Ti, A100")
  })

  it('names the file of another schema version', async () => {
    const file = path.join(folder, '3080Ti.json')
    writeFileSync(file, JSON.stringify({ ...(shippedParameters['3080Ti'] as object), schemaVersion: 1 }))
    const { code, stderr } = await call(...usual, '--params', folder)
    rmSync(file)
    expect(code).toBe(1)
    expect(stderr).toContain(`${file}: schemaVersion: got 1`)
  })

  it('draws the prediction over the clocks', async () => {
    const file = path.join(folder, 'clocks.svg')
    const { code, stderr } = await call(...usual, '--plot', file)
    expect({ code, stderr }).toEqual({ code: 0, stderr: `written: ${file}\n` })
    const svg = readFileSync(file, 'utf8')
    expect(svg).toMatch(/^<svg/)
    expect(svg).toContain('throughput, samples/s')
  })

  it('compares with measured traces', async () => {
    const file = path.join(folder, 'measured.csv')
    writeFileSync(file, formatTraceCsv(measuredRows(loadPerfModel('A100'), 4, 60)))
    const test = ['--platform', 'A100', '--model', 'all', '--test', file, '--json']
    const { code, stdout } = await call(...test, '--sample', '40')
    expect(code).toBe(0)
    const { rows, metrics } = JSON.parse(stdout)
    expect(rows).toBe(40)
    const [, , throughput, power] = metrics
    // The rows are the model's own predictions with 1 % and 0.5 % of noise.
    expect(throughput).toMatchObject({ quantity: 'throughput', rows: 40 })
    expect(throughput.mape).toBeGreaterThan(0.3)
    expect(throughput.mape).toBeLessThan(2)
    expect(power.r2).toBeGreaterThan(0.99)
    for (const { mae, rmse, r2 } of metrics) {
      expect(rmse).toBeGreaterThanOrEqual(mae)
      expect(r2).toBeLessThanOrEqual(1)
    }
    expect((await call(...test, '--sample', '40')).stdout).toBe(stdout)
    expect((await call(...test, '--sample', '40', '--seed', '2')).stdout).not.toBe(stdout)
    const table = await call('--platform', 'A100', '--model', 'resnet50', '--test', file)
    expect(table.stdout).toMatch(/^quantity +rows +MAE +RMSE +MAPE +R2\n/)
  })

  it.each<[string, number, string[]]>([
    ['--shares and --batches are needed', 2, ['--platform', '3080Ti', '--model', 'resnet50']],
    ['--shares has 2 shares, --batches has 3 batches', 2, [...usual, '--b', '16']],
    ['--batches', 2, [...usual, '--b', '16', '0']],
    ['--shares', 2, [...usual, '--p', '50', 'nan']],
    ['--model has 4 names', 2, [...usual, '--model', 'vgg19', 'vgg19', 'vgg19']],
    ['--model all goes with --test only', 2, [...usual, '--model', 'all']],
    ['--gpu-mem-freq and --mem-clock', 2, [...usual, '--gpu-mem-freq', '--mem-freq', '9501']],
    ["unknown network 'alexnet'", 1, [...usual, '--model', 'alexnet']],
    ['not one of imagenet, caltech256', 2, [...usual, '--dataset', 'mnist']],
    ['smClockMhz: got 2500', 1, [...usual, '--f', '2500']],
    ['memClockMhz: got 810', 1, [...usual, '--mem-freq', '810']],
    ['sum of tenants[].mpsPercent: got 155', 1, [...usual, '--p', '80', '--b', '16']],
    ['cannot be read; name a folder', 1, [...usual, '--params', path.join(folder, 'nowhere')]],
    ['cannot be read', 1, ['--platform', 'A100', '--model', 'all', '--test', path.join(folder, 'nowhere.csv')]],
  ])('says %s and ends with %d', async (problem, expected, argv) => {
    const { code, stdout, stderr } = await call(...argv)
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
    expect(stderr).toContain(problem)
  })

  it('asks for the board where there is no GPU to ask', async () => {
    if (existsSync('/dev/nvidiactl')) return
    const { code, stderr } = await call('--model', 'resnet50', '--p', '50', '--b', '16')
    expect(code).toBe(1)
    expect(stderr).toContain('name the board with --gpu')
  })
})
