import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { sensitivity } from '../src/commands.js'
import { parseSensitivityMatrix } from '../src/job-profile.js'

const folder = mkdtempSync(path.join(os.tmpdir(), 'pctodl-sensitivity-'))
const before = process.cwd()
const example = (name: string) => path.resolve(import.meta.dirname, '../examples', name)

beforeAll(() => {
  execFileSync(process.execPath, [example('make-images.mjs'), path.join(folder, 'images'), '24', '320', '240'])
  process.chdir(folder)
})
afterAll(() => {
  process.chdir(before)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

async function run(...argv: string[]) {
  return runWith(new AbortController().signal, argv)
}

const runWith = (signal: AbortSignal, argv: readonly string[]) =>
  callCommand('pctodl sensitivity', sensitivity, argv, { signal, env: process.env })

const profile = (...more: string[]) =>
  run('profile', '-b', '4', '--max-iterations', '31', '--storage-mbps', '3', '--mem-gbps', '10', ...more)

describe('profile', () => {
  it('profiles a real loader, tells the matrix, and goes on where it stopped', async () => {
    const script = [example('image-loader.mjs'), '--data', 'images', '--step-ms', '3']
    const first = await profile('--job-name', 'loader', '--memory-points', '0,50', '--json', ...script)
    expect(first.stderr).toMatch(/^\d+ cores: 0\.\d+ s per iteration$/m)
    expect(first.code, first.stderr).toBe(0)
    const matrix = parseSensitivityMatrix(first.stdout)
    expect(matrix).toEqual(parseSensitivityMatrix(readFileSync('profiles/loader/profile.json', 'utf8')))
    expect(matrix.dataset.samples).toBe(24)
    expect(matrix.points.filter(({ source }) => source === 'measured').length).toBe(matrix.runs)
    // At 3 MB/s and nothing cached the storage sets the pace, however many cores there are.
    const uncached = matrix.points.filter(({ memPercent }) => memPercent === 0)
    const storageRate = (3 / 1024 / matrix.dataset.gb) * 24
    for (const { samplesPerSecond } of uncached) expect(samplesPerSecond).toBeLessThanOrEqual(storageRate * (1 + 1e-9))

    const again = await profile('--job-name', 'loader', '--memory-points', '0,50', '--json', ...script)
    expect(again.stderr.match(/from an earlier call/g)?.length).toBe(matrix.runs)
    expect(again.stdout).toBe(first.stdout)
    const other = await profile('--job-name', 'loader', '--cpu', '1', ...script, '--cached-percent', '50')
    expect(other).toMatchObject({ code: 1, stdout: '' })
    expect(other.stderr).toMatch(/fingerprint is .* remove the file to start over/)
  })

  it('runs a failing job twice and says what it said', async () => {
    writeFileSync('failing.sh', 'echo once >> calls; echo "no GPU here" >&2; exit 3\n')
    const failed = await profile('--dataset-gb', '1', '--num-samples', '100', 'failing.sh')
    expect(failed.code).toBe(1)
    expect(failed.stderr).toMatch(/failing\.sh .*: ended with exit code 3; its output:\nno GPU here/)
    expect(readFileSync('calls', 'utf8')).toBe('once\nonce\n')
  })

  it('takes no old report for a new one, and ends a run that takes too long with all its processes', async () => {
    writeFileSync('PERF_silent.txt', '0.1\n9\n0\n')
    writeFileSync('silent.sh', 'exit 0\n')
    const silent = await profile('--job-name', 'silent', '--dataset-gb', '1', '--num-samples', '100', 'silent.sh')
    expect(silent.stderr).toMatch(/left no report/)
    writeFileSync('slow.sh', 'sleep 987 & echo $! > slow.pid; wait\n')
    const slow = await profile(
      '--run-timeout',
      '0.3',
      '--job-name',
      'slow',
      '--dataset-gb',
      '1',
      '--num-samples',
      '100',
      'slow.sh',
    )
    expect(slow.stderr).toMatch(/did not end within 0\.3 s/)
    const state = `/proc/${readFileSync('slow.pid', 'utf8').trim()}/status`
    // A killed process needs a moment to end.
    const stateNow = () => (existsSync(state) ? readFileSync(state, 'utf8') : 'State: gone')
    await vi.waitFor(() => expect(stateNow()).toMatch(/State:\s+(gone|Z)/), { timeout: 20_000 })
  })

  it('reads the report file where the job prints nothing', async () => {
    writeFileSync('quiet.sh', 'printf "0.5\\n49\\n0\\n" > PERF_quiet.txt\n')
    const quiet = await profile(
      '--job-name',
      'quiet',
      '--cpu',
      '1',
      '--dataset-gb',
      '1',
      '--num-samples',
      '100',
      '--json',
      'quiet.sh',
    )
    expect(parseSensitivityMatrix(quiet.stdout).points.at(-1)).toMatchObject({
      samplesPerSecond: 8,
      source: 'measured',
    })
  })

  it('ends if nothing can be created where its output should be', async () => {
    writeFileSync('never.sh', 'exit 3\n')
    const given = ['--dataset-gb', '1', '--num-samples', '9', '--output', '/proc/nowhere/profile.json', 'never.sh']
    expect(await profile(...given)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cannot write .proc.nowhere/),
    })
  })

  it('is interrupted at once', async () => {
    writeFileSync('endless.sh', 'sleep 987\n')
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('interrupted')), 300)
    const result = await runWith(controller.signal, [
      'profile',
      '--dataset-gb',
      '1',
      '--num-samples',
      '9',
      '--storage-mbps',
      '1',
      '--job-name',
      'endless',
      'endless.sh',
    ])
    expect(result.code).toBe(130)
  })

  it.each([
    [['profile'], /missing required argument 'script'/],
    [['profile', 'absent.py'], /script: got 'absent\.py'/],
    [['profile', '--num-gpus', '0', 'x'], /not an integer of at least 1/],
    [['profile', '--job-name', '../x', 'failing.sh'], /job-name/],
    [['profile', '--node_rank', '1', 'failing.sh'], /node_rank: got 1, expected a number below --nnodes/],
    [['profile', '--run-timeout', '1e300', 'failing.sh'], /not a number from 0\.001 to 1000000/],
    [['profile', 'failing.sh'], /a data set: --data, or --dataset-gb/],
    [['profile', 'failing.sh', '--data', 'nowhere'], /data: got '.*nowhere', expected a folder/],
    [['profile', '--dataset-gb', '1', '--num-samples', '1', 'failing.sh', '-b', 'many'], /batch-size: got 'many'/],
  ])('refuses %j as misuse', async (argv, message) => {
    writeFileSync('failing.sh', 'exit 3\n')
    const { code, stderr } = await run(...argv)
    expect(stderr).toMatch(message)
    expect(code).toBe(2)
  })
})

describe('simulate and compare', () => {
  it('runs a drawn trace and tells its figures as a table or JSON', async () => {
    const argv = ['simulate', '--generate', '60', '--load', '6', '--durations', 'short', '--servers', '2']
    const table = await run(...argv, '--jobs-csv', 'jobs.csv')
    expect(table).toMatchObject({ code: 0, stderr: '' })
    expect(table.stdout).toMatch(/srtf +│ tune +│ +60 │/)
    expect(readFileSync('jobs.csv', 'utf8').split('\n').length).toBe(62)
    const json = JSON.parse((await run(...argv, '--json')).stdout)
    expect(json.summary).toMatchObject({ policy: 'srtf', mechanism: 'tune', jobs: 60 })
    expect(json).toMatchObject({
      format: 'pctodl-sensitivity-schedule',
      version: 1,
      packageVersion: expect.stringMatching(/^\d+\.\d+\.\d+/),
      seed: 1,
      cluster: { servers: [{ count: 2, gpus: 8, cpus: 24, memoryGb: 500 }] },
      jobs: {
        source: 'generated: 60',
        jobsPerHour: 6,
        split: [20, 70, 10],
        durations: 'short',
        count: 60,
        skipped: [],
      },
      models: { source: 'examples', ratio: 3 },
      options: { roundS: 300 },
    })
  })

  it('draws jobs of the classes that --split names', async () => {
    const argv = ['simulate', '--generate', '9', '--load', '6', '--split', '1,0,0', '--json']
    const { code, stdout } = await run(...argv, '--jobs-csv', 'images.csv')
    expect([code, JSON.parse(stdout).jobs.split]).toEqual([0, [1, 0, 0]])
    const rows = readFileSync('images.csv', 'utf8').trim().split('\n').slice(1)
    expect(rows.map((row) => row.split(',')[1])).toEqual(rows.map(() => expect.stringMatching(/^image-/)))
  })

  it('reads a cluster file that begins with a byte order mark', async () => {
    const kind = { count: 1, gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }
    writeFileSync('marked.json', `\uFEFF${JSON.stringify({ servers: [kind] })}`)
    expect(await run('simulate', '--generate', '3', '--load', '6', '--cluster', 'marked.json')).toMatchObject({
      code: 0,
    })
  })

  it('writes what a cluster would be told to do: a dry run', async () => {
    const argv = ['simulate', '--generate', '20', '--load', '6', '--durations', 'short', '--servers', '1']
    expect((await run(...argv, '--actions', 'actions.jsonl')).stdout).toContain('written: actions.jsonl')
    const actions = readFileSync('actions.jsonl', 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const first = {
      type: 'place',
      run: 1,
      timeS: expect.any(Number),
      placement: [{ server: 0, gpus: expect.any(Number) }],
    }
    expect(actions[0]).toMatchObject(first)
    const placed = actions.filter(({ type, run: start }) => type === 'place' && start === 1)
    expect(new Set(placed.map(({ jobId }) => jobId)).size).toBe(20)
  })

  it('skips jobs that are too large when asked, and says which', async () => {
    const { code, stdout, stderr } = await run(
      ...[
        'simulate',
        '--generate',
        '50',
        '--load',
        '1',
        '--servers',
        '1',
        '--gpus-per-server',
        '2',
        '--mechanism',
        'fair',
      ],
      ...['--policy', 'fifo', '--skip-impossible', '--json'],
    )
    expect(code).toBe(0)
    const { jobs, summary } = JSON.parse(stdout)
    expect(stderr.match(/^skipped: job \d+ can never run: it needs [48] GPUs/gm)?.length).toBe(jobs.skipped.length)
    expect(summary.jobs).toBe(50 - jobs.skipped.length)
  })

  it('writes over no file that it reads, and no two results to one file', async () => {
    writeFileSync('precious.csv', '0,speech,0,10,1\n')
    for (const files of [
      ['--actions', './precious.csv'],
      ['--actions', 'result', '--jobs-csv', 'result'],
      ['--profiles', 'precious.json=image', '--jobs-csv', 'precious.json'],
    ]) {
      const { code, stderr } = await run('simulate', '--trace', 'precious.csv', ...files)
      expect([code, stderr]).toEqual([2, expect.stringMatching(/--actions and --jobs-csv: name files of their own/)])
    }
    expect(readFileSync('precious.csv', 'utf8')).toBe('0,speech,0,10,1\n')
  })

  it('compares, with gains over fair', async () => {
    const { code, stdout, stderr } = await run(
      ...['simulate', '--generate', '40', '--load', '8', '--durations', 'short', '--servers', '1'],
      ...['--policy', 'fifo,las', '--mechanism', 'fair,tune,optimal', '--json'],
    )
    expect(code).toBe(0)
    expect(stderr).toContain('[6/6] las optimal: mean')
    const { summaries } = JSON.parse(stdout)
    expect(summaries.map(({ mechanism }: { mechanism: string }) => mechanism)).toEqual([
      'fair',
      'tune',
      'optimal',
      'fair',
      'tune',
      'optimal',
    ])
  })

  it.each([
    [[], 2, /name a command/],
    [
      ['simulate', '--generate', '5', '--load', '1', '--policy', 'fifo,las', '--jobs-csv', 'x'],
      2,
      /describe one schedule/,
    ],
    [['simulate'], 2, /give one of --trace and --generate/],
    [['simulate', '--generate', '5'], 2, /needs --load/],
    [['simulate', '--generate', '5', '--load', '1', '--policy', 'srsf'], 2, /not one of fifo/],
    [['simulate', '--generate', '5', '--load', '1', '--split', '1,2'], 2, /three parts/],
    [
      ['simulate', '--generate', '50', '--load', '1', '--servers', '1', '--gpus-per-server', '2'],
      1,
      /job \d+ can never run: it needs [48] GPUs/,
    ],
    [['simulate', '--trace', 'nowhere.csv'], 1, /ENOENT/],
    [['simulate', '--generate', '5', '--load', '1', '--profiles', 'a=b'], 2, /'b' is no class/],
    [['simulate', '--generate', '5', '--load', '1', '--profiles', 'a=image=x'], 2, /'x' is no class/],
    ...[
      ['--trace t.csv', '--seed 2', '--trace'],
      ['--trace t.csv', '--load 2', '--trace'],
      ['--trace t.csv', '--split 1,1,1', '--trace'],
      ['--trace t.csv', '--durations short', '--trace'],
      ['--generate 5 --load 1 --cluster c.json', '--servers 2', '--cluster'],
      ['--generate 5 --load 1 --cluster c.json', '--gpus-per-server 8', '--cluster'],
      ['--generate 5 --load 1 --cluster c.json', '--cpus-per-server 2', '--cluster'],
      ['--generate 5 --load 1 --cluster c.json', '--memory-per-server 2', '--cluster'],
      ['--generate 5 --load 1 --profiles a.json', '--models examples', '--profiles'],
      ['--generate 5 --load 1 --profiles a.json', '--ratio 3', '--profiles'],
    ].map(([others, ignored, by]): [string[], number, RegExp] => [
      `simulate ${others} ${ignored}`.split(' '),
      2,
      new RegExp(`option '${by} .*' cannot be used with option '${ignored!.split(' ')[0]} `),
    ]),
    [['simulate', '--generate', '5', '--load', '1', '--ratio', '3'], 2, /--ratio chooses among the tables/],
    [
      ['simulate', '--generate', '1000', '--load', '6', '--round', '0.1'],
      2,
      /--round is too short for this trace; give at least [1-9]\d*(\.\d)? s/,
    ],
    [['execute', '--round', '0.05', '--', 'true'], 2, /--round.* a number from 0\.1 /],
  ])('refuses %j', async (argv, code, message) => {
    const result = await run(...argv)
    expect(result.stderr).toMatch(message)
    expect(result.code).toBe(code)
  })

  it('simulates a short trace with the shortest rounds', async () => {
    expect(await run('simulate', '--generate', '5', '--load', '20', '--round', '0.1')).toMatchObject({ code: 0 })
  })

  it('explains itself', async () => {
    for (const argv of [['--help'], ['profile', '--help'], ['simulate', '--help'], ['execute', '--help']]) {
      const { code, stdout } = await run(...argv)
      expect(code).toBe(0)
      expect(stdout).toContain('Example:')
    }
  })
})
