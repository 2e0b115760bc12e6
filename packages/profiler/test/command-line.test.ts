import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseTraceCsv } from '@pctodl/platform/trace-csv'
import { readTrace } from '@pctodl/profiler'
import { afterAll, describe, expect, it } from 'vitest'
import { call } from './call.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-profile-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const at = (name: string) => path.join(folder, name)
const read = (name: string) => readFileSync(at(name), 'utf8')
const a100 = ['--backend', 'sim', '--gpu', 'A100']
const single = ['--single', '--models', 'resnet50', '--p', '30', '--b', '16', '--f', '1005']

describe('pctodl profile', () => {
  it("measures one configuration by the Python code's options", async () => {
    const out = at('single.csv')
    const { code, stdout, stderr } = await call([
      ...a100,
      ...['--single', '--models', 'resnet50', '--p', '30', '20', '--b', '16', '--f', '1005', '--mem-freq', '1215'],
      ...['--out', out],
    ])
    expect(code).toBe(0)
    expect(stderr).toMatch(/^simulated NVIDIA A100.*\n1 rows \(1 single\)\nexpected on the board: \d+ s/)
    expect(stdout).toMatch(/^1 rows: 1 ok\n.* on the board, .* here\n/)
    const [row] = parseTraceCsv(read('single.csv'))
    expect(row).toMatchObject({
      tenants: [
        { model: 'resnet50', mpsPercent: 30, batchSize: 16 },
        { model: 'resnet50', mpsPercent: 20, batchSize: 16 },
      ],
      targetSmClockMhz: 1005,
      memClockMhz: 1215,
      failed: false,
    })
    expect(JSON.parse(read('single.manifest.json'))).toMatchObject({
      tool: expect.stringMatching(/^@pctodl\/profiler \d/),
      backend: 'sim',
      board: { key: 'A100', driverVersion: 'simulated' },
      plan: { seed: 1, rows: [{ sweep: 'single' }] },
    })
  })

  it('shows the plan and the time it takes, and measures nothing', async () => {
    const { code, stdout } = await call([...a100, '--models', 'vgg19', '--dry-run', '--out', at('dry.csv')])
    expect(code).toBe(0)
    expect(stdout.split('\n')).toHaveLength(263 + 2)
    expect(stdout).toMatch(/^1 {2}\d+ x \d+ % vgg19 at batch \d+, auto\/1215 MHz\n/)
    expect(stdout).toMatch(/restarts of processes\n$/)
    expect(existsSync(at('dry.csv'))).toBe(false)
  })

  it.each([
    [['--static'], 9],
    [['--static', '--f', '1005'], 1],
    [['--profile-freq-scaling', '--models', 'vgg19', 'resnet50'], 18],
    [['--sweep', '--models', 'vgg19', '--p', '50', '50', '--f-start', '300', '--f-end', '600', '--f-step', '100'], 4],
    [['--clocks', '--models', 'vgg19'], 81],
    [['--mixes', '7', '--repeats', '2'], 14],
    [['--design', 'active', '--rows', '9', '--models', 'vgg19', 'resnet50'], 9],
    [[], 7 * 263],
  ])('plans %j', async (sweep, rows) => {
    const { stdout } = await call([...a100, ...sweep, '--dry-run', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ rows, plan: { board: 'A100' } })
  })

  it('measures a plan that was written, the same again', async () => {
    const plan = at('plan.json')
    const whole = await call([...a100, ...single, '--write-plan', plan, '--out', at('first.csv')])
    expect(whole.code).toBe(0)
    expect((await call([...a100, '--plan', plan, '--out', at('second.csv')])).code).toBe(0)
    expect(read('second.csv')).toBe(read('first.csv'))
    const other = await call(['--backend', 'sim', '--gpu', 'T4', '--plan', plan, '--out', at('third.csv')])
    expect(other).toMatchObject({ code: 2, stderr: expect.stringMatching(/is a plan for A100, this is .*T4/) })
  })

  it('is interrupted, keeps its rows and goes on', async () => {
    const sweep = [...a100, '--static', '--f-step', '600', '--single', '--models', 'mnasnet1_0', '--out', at('on.csv')]
    const interrupted = new AbortController()
    const cut = await call(
      sweep,
      (text) => text.includes('[3/4]') && interrupted.abort(new Error('enough')),
      interrupted.signal,
    )
    expect(cut.code).toBe(130)
    expect(cut.stderr).toMatch(/3 of 4 rows are kept; go on with --resume/)
    const again = await call(sweep)
    expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/exists; go on with it by --resume/) })
    const resumed = await call([...sweep, '--resume'])
    expect(resumed).toMatchObject({ code: 0, stderr: expect.stringMatching(/resuming after row 3 of 4/) })
    expect(readTrace(at('on.csv')).map(({ row }) => row)).toEqual([0, 1, 2, 3])
    const rename = (file: string, column: string) => writeFileSync(at(file), read(file).replace(column, 'other'))
    rename('on.static.csv', 'power_avg')
    expect(() => readTrace(at('on.csv'))).toThrow(/row 1.*power_avg/)
    rename('on.csv', 'message')
    expect(() => readTrace(at('on.csv'))).toThrow(/row 1.*message/)
  })

  it('repeats rows', async () => {
    const files = ['--out', at('drawn.csv'), '--json']
    const { code, stdout } = await call([...a100, ...single, '--repeats', '3', ...files])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ rows: 3, byStatus: { ok: 3 } })
    expect(
      readTrace(at('drawn.csv'))
        .map(({ repeat }) => repeat)
        .sort(),
    ).toEqual([0, 1, 2])
  })

  it('gives rows that do not fit a status, and still succeeds', async () => {
    const tight = ['--backend', 'sim', '--gpu', 'T4', '--single', '--models', 'vgg19']
    const shares = ['--p', '20', '20', '20', '20', '20', '--b', '256']
    const { code, stdout, stderr } = await call([...tight, ...shares, '--out', at('tight.csv'), '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ byStatus: { 'out-of-memory': 1 } })
    expect(stderr).toMatch(/out-of-memory: tenant \d \(vgg19, 20 %, batch 256\): out of memory: .*needs/)
    expect(parseTraceCsv(read('tight.csv'))[0]).toMatchObject({ failed: true, throughput: Number.NaN })
  })

  it.each([
    [['--backend', 'sim'], /--backend sim needs --gpu/],
    [[...a100, '--single', '--p', '60', '60'], /--shares sum to 120 %/],
    [[...a100, '--single', '--p', '20', '20', '20', '--b', '8', '16'], /--shares has 3 values and --batches 2/],
    [[...a100, '--single', '--p', '0'], /--shares.*a number from 0.01 to 100/],
    [[...a100, '--models', 'resnet51'], /unknown network 'resnet51'; known: /],
    [[...a100, '--worker', 'torch'], /--worker is for a real board/],
    [[...a100, '--dataset', '/images'], /--dataset is for a real board/],
    [[...a100, '--clocks', '--no-sudo'], /--no-sudo leaves clocks alone/],
    [[...a100, '--plan', 'p.json', '--single'], /--plan defines the rows/],
    [[...a100, '--plan', '/no/such/plan.json'], /cannot read \/no\/such\/plan\.json/],
    [[...a100, '--repeats', '0'], /--repeats/],
    [[...a100, '--rows', '60'], /--rows and --params belong to --design active/],
    [[...a100, '--design', 'lucky'], /--design.*active/],
    [[...a100, '--backend', 'cuda'], /--backend.*auto, sim, nvml/],
  ])('refuses %j', async (argv, message) => {
    const { code, stderr } = await call([...argv, '--dry-run'])
    expect(stderr).toMatch(message)
    expect(code).toBe(2)
  })

  it.each([
    [[...a100, ...single.slice(0, -1), '1004'], /SM clock: got 1004, expected a state of NVIDIA A100/],
    [[...a100, '--mem-freq', '405'], /memory clock: got 405, expected one of 1215 MHz/],
    [['--backend', 'sim', '--gpu', 'Voodoo2'], /unknown .*'Voodoo2'; known: /],
    [[...a100, ...single, '--out', '/dev/null/a.csv'], /cannot|ENOENT/],
  ])('fails at %j', async (argv, message) => {
    const { code, stderr } = await call(argv)
    expect(stderr).toMatch(message)
    expect(code).toBe(1)
  })
})
