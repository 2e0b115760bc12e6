import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { pctodlRun } from '../src/commands.js'
import { experimentAlgorithms } from '../src/policy-names.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-run-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const inFolder = (name: string) => path.join(folder, name)

const call = (argv: readonly string[], options: { readonly isTTY?: boolean; readonly signal?: AbortSignal } = {}) =>
  callCommand('pctodl run', pctodlRun, argv, options)

const sim = ['--backend', 'sim', '--model', 'resnet50']
const schedule = inFolder('caps.csv')
writeFileSync(schedule, 'time_s,power_cap_w\n0,200\n40,150\n')
const scheduled = [...sim, '--cap-schedule', schedule, '--duration', '61']

describe('pctodl run', () => {
  it('runs a cap schedule, says how it went, and logs windows and events', async () => {
    const log = inFolder('logged/run.csv')
    const { code, stdout, stderr } = await call([...scheduled, '--log-file', log])
    expect(code).toBe(0)
    expect(stderr).toMatch(/^pctodl for resnet50 on simulated NVIDIA GeForce RTX 3080 Ti \(seed 1\)/)
    expect(stderr).toMatch(/ {3}40 s {2}cap 150 W\n/)
    expect(stdout).toMatch(/throughput +\d{4}\.\d samples\/s\n/)
    expect(stdout).toMatch(/above the cap +\d\.\d\d % of the time/)
    expect(stdout).toMatch(/200 to 150 W +not settled before the end/)
    const rows = readFileSync(log, 'utf8').trim().split('\n')
    expect(rows).toHaveLength(1 + 13)
    const events = readFileSync(inFolder('logged/run.events.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(events[0]).toMatchObject({
      type: 'run-start',
      about: { experiment: { board: '3080Ti', capsW: [200, 150] } },
    })
    expect(events.filter(({ type }) => type === 'window')).toHaveLength(13)
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'done' })
  })

  it('takes a schedule as a spreadsheet saves it, with a byte order mark', async () => {
    const marked = inFolder('marked.csv')
    writeFileSync(marked, '\ufefftime_s,power_cap_w\r\n0,200\r\n')
    const { code, stderr } = await call([...sim, '--cap-schedule', marked, '--iterations', '1'])
    expect(code, stderr).toBe(0)
  })

  it('says before it runs that its log cannot be written', async () => {
    mkdirSync(inFolder('folder.csv'))
    const { code, stdout, stderr } = await call([...scheduled, '--log-file', inFolder('folder.csv')])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/cannot write .*folder\.csv: it is no file/)
  })

  it.each(experimentAlgorithms)('replays a run of %s to the same decisions', async (algorithm) => {
    const log = inFolder(`${algorithm}.csv`)
    expect((await call([...scheduled, '--algorithm', algorithm, '--log-file', log])).code).toBe(0)
    const record = inFolder(`${algorithm}.events.jsonl`)
    const { code, stdout } = await call(['--replay', record])
    expect(stdout).toMatch(/cap 150 W\n[\s\S]*all as recorded\.\n$/)
    expect(code).toBe(0)
  })

  it.each([
    ['morak-published', 'morak', 'published'],
    ['plan-limit', 'directcap', 'tuned'],
    ['plan-locked', 'static-best', 'fair'],
    ['powercap', 'powercap', 'published'],
  ])(
    'replays a record of %s by an earlier release, which called it %s with the variant %s',
    async (now, then, variant) => {
      const log = inFolder(`earlier-${now}.csv`)
      await call([...sim, '--power-cap', '150', '--iterations', '2', '--algorithm', now, '--log-file', log])
      const record = inFolder(`earlier-${now}.events.jsonl`)
      const text = readFileSync(record, 'utf8')
      const earlier = `"algorithm":"${then}","variant":"${variant}"`
      writeFileSync(record, text.replace(`"algorithm":"${now}"`, earlier).replace('"capsW":[150]', '"scheduled":false'))
      const { code, stdout } = await call(['--replay', record])
      expect(stdout).toContain('all as recorded.')
      expect(code).toBe(0)
    },
  )

  it('says where a replay decides otherwise', async () => {
    const log = inFolder('other.csv')
    await call([...sim, '--power-cap', '150', '--iterations', '4', '--log-file', log])
    const record = inFolder('other.events.jsonl')
    const text = readFileSync(record, 'utf8')
    writeFileSync(record, text.replace('"hardwareLimit":true', '"hardwareLimit":false'))
    const { code, stdout } = await call(['--replay', record, '--json'])
    expect(code).toBe(1)
    expect(JSON.parse(stdout).differences[0]).toMatchObject({ source: expect.any(String), timeMs: expect.any(Number) })
  })

  it('fails where not one sample was completed, and says why', async () => {
    const tooSlow = ['--power-cap', '120', '--iterations', '1', '--shares', '5', '--batches', '256']
    const { code, stderr } = await call(['--backend', 'sim', '--model', 'vgg19', ...tooSlow])
    expect(stderr).toMatch(/\npctodl run: not one sample was completed, so nothing was measured \(too-short\);.*\n$/)
    expect(code).toBe(1)
  })

  it('keeps what was measured of a run that is interrupted', async () => {
    const stop = new AbortController()
    const log = inFolder('cut.csv')
    const events = inFolder('cut.events.jsonl')
    const whenMeasured = setInterval(() => {
      if (existsSync(events) && readFileSync(events, 'utf8').includes('"type":"window"'))
        stop.abort(new Error('SIGINT'))
    }, 50)
    const { code } = await call([...sim, '--power-cap', '150', '--iterations', '1000000', '--log-file', log], {
      signal: stop.signal,
    })
    clearInterval(whenMeasured)
    expect(code).toBe(130)
    expect(readFileSync(log, 'utf8').trim().split('\n').length).toBeGreaterThan(1)
    expect(readFileSync(events, 'utf8').trim().split('\n').at(-1)).toContain('"aborted"')
  })

  it('takes the options of the published program', async () => {
    const { code, stdout } = await call([
      ...['--algorithm', 'pctodl', '--model', 'mobilenetv2', '--dataset', 'caltech256', '--power-schedule', 'up'],
      ...['--iterations', '8', '--power-margin', '3', '--mem-clock', '5001', '--mps-step', '20', '--enable-shadow'],
      ...['--backend', 'sim', '--json'],
    ])
    expect(code).toBe(0)
    const { about, evaluation } = JSON.parse(stdout)
    expect(about.experiment).toMatchObject({
      model: 'mobilenet_v2',
      memClockMhz: 5001,
      powerMarginW: 3,
      sharePercentStep: 20,
      shadow: true,
    })
    expect(evaluation.source).toBe('true')
    expect(evaluation.whole.throughput).toBeGreaterThan(100)
  })

  it('runs tenants that are given', async () => {
    const given = ['--mps-resources', '50,30,20', '--batch-sizes', '32,16,8', '--power-cap', '150', '--iterations', '2']
    const { stdout } = await call([...sim, ...given, '--json'])
    expect(JSON.parse(stdout).about.experiment.tenants).toMatchObject([
      { mpsPercent: 50, batchSize: 32 },
      { mpsPercent: 30, batchSize: 16 },
      { mpsPercent: 20, batchSize: 8 },
    ])
  })

  it('rewrites a live view on a terminal, within its width', async () => {
    const { stderr } = await call([...sim, '--power-cap', '150', '--iterations', '2', '--mps-step', '25'], {
      isTTY: true,
    })
    expect(stderr).toMatch(/power {2}\[#+\.*\] \d+\.\d W of 150 W\n/)
    expect(stderr).toMatch(/ {2}resnet50 25 % batch \d+: (>= )?\d+ samples\/s( \(restarted\))?\n/)
    const esc = String.fromCharCode(27)
    expect(stderr).toContain(`${esc}[`)
    const drawn = stderr
      .split('\n')
      .slice(1)
      .map((line) => line.replaceAll(new RegExp(`${esc}\\[\\d*[AJ]|\\r`, 'g'), ''))
    expect(Math.max(...drawn.map((line) => line.length))).toBeLessThanOrEqual(60)
  })
})

describe('bad input', () => {
  const capped = [...sim, '--power-cap', '150']
  it.each([
    ['no model', ['--power-cap', '150'], 2, '--model: say which network'],
    ['two caps', [...capped, '--power-schedule', 'up'], 2, 'give exactly one of --power-cap'],
    ['no cap', sim, 2, 'give exactly one of --power-cap'],
    ['an unknown network', ['--model', 'nope', '--power-cap', '9'], 2, "unknown network 'nope'"],
    ['an unknown board', [...capped, '--gpu', 'Z9'], 2, "--gpu: unknown GPU 'Z9'"],
    ['an unknown algorithm', [...capped, '--algorithm', 'best'], 2, 'not one of pctodl, plan-limit-step'],
    ['a former variant', [...capped, '--variant', 'tuned'], 2, '--algorithm morak-tuned'],
    ['a former name', [...capped, '--algorithm', 'static-best'], 2, 'is plan-locked'],
    ['a memory clock that is none', [...capped, '--mem-freq', '77'], 2, 'got 77, expected one of 9501, 5001'],
    ['both durations', [...capped, '--duration', '9', '--iterations', '2'], 2, 'say the same'],
    ['batches without shares', [...capped, '--batch-sizes', '8'], 2, '--batches needs --shares'],
    ['too few batches', [...capped, '--mps-resources', '50,30,20', '--batch-sizes', '8,8'], 2, '2 sizes for 3 shares'],
    ['a cap that nothing keeps', [...sim, '--power-cap', '20'], 1, 'raise the cap to at least that'],
    ['no such record', ['--replay', inFolder('none.jsonl')], 1, 'the record of a run, a file that can be read'],
    ['no place to write', [...capped, '--log-file', '/dev/null/run.csv'], 1, 'cannot write /dev/null/run.events.jsonl'],
  ])('%s', async (_, argv, code, message) => {
    const result = await call(argv)
    expect(result.stderr).toContain(message)
    expect(result.code).toBe(code)
    expect(result.stdout).toBe('')
  })

  it.each([
    ['cap;watts\n0,100\n', ", row 1: got 'cap;watts', expected 'time_s,power_cap_w'"],
    ['time_s,power_cap_w\n0,100\n5,abc\n', ", row 3: got '5,abc', expected two numbers: seconds, watts"],
    ['time_s,power_cap_w\n5,100\n', 'times from 0 on that ascend'],
    ['time_s,power_cap_w\n0,100\n0,90\n', 'times from 0 on that ascend'],
  ])('a cap schedule that is none: %j', async (text, message) => {
    const file = inFolder('bad.csv')
    writeFileSync(file, text)
    const { code, stderr } = await call([...sim, '--cap-schedule', file])
    expect(stderr).toContain(message)
    expect(code).toBe(2)
  })

  const start = '{"timeMs":0,"type":"run-start","version":1,"caps":[{"atMs":0,"powerCapW":100}],"powerLimitW":350'
  it.each([
    ['{\n', 'line 1: got'],
    ['{"timeMs":0,"type":"cap","powerCapW":3}\n', "begins with 'run-start'"],
    [`${start}}\n`, 'line 1: about.experiment'],
    [`${start},"about":{"experiment":{"algorithm":"best"}}}\n`, 'line 1: about.experiment.algorithm'],
    [`${start}}\n{"timeMs":1,"type":"sample"}\n`, 'line 2: telemetry'],
    ['', "begins with 'run-start'"],
  ])('a record that is none: %j', async (text, message) => {
    const file = inFolder('bad.jsonl')
    writeFileSync(file, text)
    const { code, stderr } = await call(['--replay', file])
    expect(stderr).toContain(message)
    expect(code).toBe(1)
  })
})
