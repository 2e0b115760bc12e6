import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { exportOnnx } from '@pctodl/model-zoo'
import { formatTraceCsv, type TraceRow } from '@pctodl/platform'
import { afterAll, describe, expect, it } from 'vitest'
import { pctodlAddNetwork, predict } from '../src/commands.js'
import { loadPerfModel, PerfModel } from '../src/index.js'
import { runCommand } from './run-command.js'

const folder = mkdtempSync(path.join(os.tmpdir(), 'add-network-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const call = (...argv: string[]) => runCommand('pctodl add-network', pctodlAddNetwork, argv)

// The graph of ResNet-50 under another name, so that its true figures are known.
const file = path.join(folder, 'detector.onnx')
writeFileSync(file, exportOnnx('resnet50', { weights: 'external' }).model)
const whole = loadPerfModel('A100')
const rows = [1, 4, 16, 64, 128, 8, 2, 32].map((batchSize, i): TraceRow => {
  const tenants = [{ model: 'resnet50', mpsPercent: [100, 40, 20, 60][i % 4]!, batchSize }]
  const smClockMhz = [1410, 900, 510][i % 3]!
  const { throughput, powerW } = whole.predict({ tenants, smClockMhz, memClockMhz: 1215 })
  return {
    tenants: tenants.map((tenant) => ({ ...tenant, model: 'detector' })),
    targetSmClockMhz: smClockMhz,
    memClockMhz: 1215,
    smClockMhz,
    smUtilPercent: 50,
    memUtilPercent: 50,
    throughput,
    powerAverageW: powerW,
    powerMaxW: powerW,
    tenantThroughput: [throughput],
    tenantLatencyMs: [(1000 * batchSize) / throughput],
    memoryUsedBytes: null,
    failed: false,
  }
})
const trace = path.join(folder, 'detector.csv')
writeFileSync(trace, formatTraceCsv(rows))

describe('pctodl add-network', () => {
  it('adds a network that is then predicted and planned for like any other', async () => {
    const params = path.join(folder, 'with-rows')
    const { code, stdout, stderr } = await call(file, '--gpu', 'A100', '--trace', trace, '--params', params)
    expect(code, stderr).toBe(0)
    expect(stdout).toMatch(/^detector on A100, from its graph and 8 rows\n/)
    expect(stdout).toMatch(/64 .* \d+ \+- \d+ .* yes/)
    const model = PerfModel.load(JSON.parse(readFileSync(path.join(params, 'A100.json'), 'utf8')))
    const at = (name: string) => ({
      tenants: [{ model: name, mpsPercent: 50, batchSize: 16 }],
      smClockMhz: 1200,
      memClockMhz: 1215,
    })
    expect(model.predict(at('detector')).throughput / whole.predict(at('resnet50')).throughput).toBeCloseTo(1, 1)
    const answer = await runCommand('pctodl predict', predict, [
      ...['--gpu', 'A100', '--params', params, '--model', 'detector', 'vgg19'],
      ...['--shares', '50', '50', '--batches', '16', '16', '--sm-clock', '1200'],
    ])
    expect(answer.code, answer.stderr).toBe(0)
    expect(answer.stdout).toContain('detector')
  })

  it('says of a graph alone how uncertain it is, and reports as JSON', async () => {
    const params = path.join(folder, 'graph-alone')
    const { code, stdout } = await call(file, '--gpu', 'A100', '--name', 'mine', '--params', params, '--json')
    expect(code).toBe(0)
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ board: 'A100', network: 'mine', rows: 0, file: path.join(params, 'A100.json') })
    expect(report.work.kernels).toBe(174)
    // A batch of one waits for launches, whose cost is known; a large batch waits for the device.
    const { inside, throughput, throughputSd } = report.preview.at(-1)
    expect(inside).toBe(false)
    expect(throughputSd / throughput).toBeGreaterThan(0.1)
  })

  it('adds to parameters of its own making, and does not write over others', async () => {
    const params = path.join(folder, 'twice')
    expect((await call(file, '--gpu', 'A100', '--name', 'one', '--params', params)).code).toBe(0)
    const before = readFileSync(path.join(params, 'A100.json'), 'utf8')
    const refused = await call(file, '--gpu', 'A100', '--name', 'two', '--params', params)
    expect(refused.stderr).toMatch(/A100\.json is there already and would be lost: add to it with --from/)
    expect([refused.code, refused.stdout]).toEqual([2, ''])
    expect(readFileSync(path.join(params, 'A100.json'), 'utf8')).toBe(before)
    const { code, stderr } = await call(file, '--gpu', 'A100', '--name', 'two', '--from', params, '--params', params)
    expect(code, stderr).toBe(0)
    const { networks } = JSON.parse(readFileSync(path.join(params, 'A100.json'), 'utf8'))
    expect(networks.map(({ name }: { name: string }) => name).slice(-2)).toEqual(['one', 'two'])
  })

  it('names operators that it does not know', async () => {
    const unknown = path.join(folder, 'unknown.onnx')
    // Renames one operator to an unknown name of the same length.
    const bytes = Buffer.from(readFileSync(file)).toString('latin1').replaceAll('MaxPool', 'MyxPool')
    writeFileSync(unknown, Buffer.from(bytes, 'latin1'))
    const { stderr } = await call(unknown, '--gpu', 'A100', '--params', path.join(folder, 'unknown'))
    expect(stderr).toMatch(/MyxPool \(1 times, \d+\.\d % of what moves\) is not known/)
  })

  it('takes the sizes of axes that a file leaves open, and how many samples a run of it stands for', async () => {
    const open = path.join(folder, 'open.onnx')
    // Height and width of 224 become an axis called H: both fields take three bytes.
    const [fixed, named] = ['\n\x03\x08\xe0\x01', '\n\x03\x12\x01H']
    writeFileSync(
      open,
      Buffer.from(Buffer.from(readFileSync(file)).toString('latin1').replaceAll(fixed, named), 'latin1'),
    )
    const workOf = async (name: string, ...argv: string[]) => {
      const { code, stdout, stderr } = await call(
        ...argv,
        '--gpu',
        'A100',
        '--params',
        path.join(folder, name),
        '--json',
      )
      expect(code, stderr).toBe(0)
      return JSON.parse(stdout).work
    }
    const whole = await workOf('whole', file)
    expect(await workOf('sized', open, '--sizes', 'H=224')).toEqual(whole)
    const pairs = await workOf('pairs', open, '--sizes', 'H=224', 'N=2', '--samples', '1')
    expect(pairs.denseGflops / whole.denseGflops).toBeCloseTo(2, 6)
    for (const [argv, message] of [
      [[], /sizes: got .*H.*--sizes axis=n/],
      [['--sizes', 'H'], /--sizes: got 'H', expected axis=n/],
      [['--sizes', 'H=2.5'], /--sizes: got 'H=2.5'/],
      [['--sizes', 'H=224', '--samples', '0'], /--samples <n>' argument '0' is invalid/],
    ] as const) {
      const answer = await call(open, ...argv, '--gpu', 'A100', '--params', path.join(folder, 'refused'))
      expect(answer.stderr).toMatch(message)
      expect([answer.code, answer.stdout]).toEqual([2, ''])
    }
  })

  it.each<[string, string[], number, RegExp]>([
    ['no board', [file], 2, /--gpu/],
    ['a board that there is not', [file, '--gpu', 'Z9'], 2, /Z9/],
    ['a board without parameters', [file, '--gpu', 'H100'], 2, /parameter set|H100/],
    ['a file that is not there', ['nowhere.onnx', '--gpu', 'A100'], 2, /nowhere\.onnx is not there/],
    ['a folder in the place of the file', [folder, '--gpu', 'A100'], 2, /add-network-\w+ cannot be read .*ONNX file/],
    ['a name that is taken', [file, '--gpu', 'A100', '--name', 'vgg19'], 2, /name: got 'vgg19'/],
    ['a trace without it', [file, '--gpu', 'A100', '--name', 'other', '--trace', trace], 2, /detector|tenant of other/],
    ['a trace that is not there', [file, '--gpu', 'A100', '--trace', 'nowhere.csv'], 1, /nowhere\.csv/],
  ])('refuses %s', async (_, argv, code, message) => {
    const params = path.join(folder, 'refused')
    mkdirSync(params, { recursive: true })
    const answer = await call(...argv, '--params', params)
    expect(answer.stderr).toMatch(message)
    expect(answer.code).toBe(code)
    expect(answer.stdout).toBe('')
  })

  it('refuses what is no ONNX file, and writes nothing', async () => {
    const broken = path.join(folder, 'broken.onnx')
    writeFileSync(broken, 'not a graph')
    const { code, stderr } = await call(broken, '--gpu', 'A100', '--params', path.join(folder, 'broken'))
    expect(code).toBe(1)
    expect(stderr).toMatch(/broken|ONNX/)
  })
})
