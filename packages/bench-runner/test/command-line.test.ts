import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { call, newFolder, removeFolders, run } from './bench-command.js'

afterEach(removeFolders)

describe('bench-runner', () => {
  it('writes the same bytes for the same seed, and others for another, as a program and as a function', async () => {
    const results = async (seed: number, suffix = '', start: typeof run | typeof call = call) => {
      const jobs = start === run ? 2 : 1
      const args = `--gpu A100 --algorithm pctodl,batchdvfs --task-id 20 --iterations 3 --seed ${seed} --jobs ${jobs}`
      const { cwd } = await start(args.split(' '))
      return ['pctodl', 'batchdvfs'].map((algorithm) =>
        readFileSync(
          path.join(cwd, `benchmark_results/A100_${algorithm}/20_resnet50_imagenet_150W${suffix}.csv`),
          'utf8',
        ),
      )
    }
    const first = await results(1)
    expect(await results(1, '', run)).toEqual(first)
    expect(await results(2, '_seed2')).not.toEqual(first)
  })

  it('prints a plan and writes nothing in a dry run', async () => {
    const { code, stdout, written } = await call(
      '--gpu A100 --algorithm pctodl --task-id 20,29 20 --dry-run'.split(' '),
    )
    expect(code).toBe(0)
    expect(stdout.trim().split('\n')).toEqual([
      'task 20: pctodl on A100, resnet50/imagenet, 150 W, 24 iterations -> benchmark_results/A100_pctodl/20_resnet50_imagenet_150W.csv',
      'task 29: pctodl on A100, resnet50/imagenet, 200 -> 160 -> 120 W, 150 iterations -> benchmark_results/A100_pctodl/29_resnet50_imagenet_power_down.csv',
    ])
    expect(written).toEqual([])
  })

  it('replaces the results of an earlier run whole', async () => {
    const folder = newFolder()
    const once = '--gpu A100 --algorithm powercap --task-id 20 --iterations'.split(' ')
    await call([...once, '4'], folder)
    await call([...once, '2'], folder)
    const file = path.join(folder, 'benchmark_results/A100_powercap/20_resnet50_imagenet_150W.csv')
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(3)
    const stem = '20_resnet50_imagenet_150W'
    expect(readdirSync(path.dirname(file)).sort()).toEqual([
      `${stem}.csv`,
      `${stem}.manifest.json`,
      `${stem}.record.json`,
    ])
  })

  it('says what it measured, and honours --result-dir', async () => {
    const { code, stderr, written } = await call(
      '--gpu A100 --algorithm powercap --task-id 20 --iterations 1 --result-dir here'.split(' '),
    )
    expect(code).toBe(0)
    expect(stderr).toMatch(/powercap: \d+ samples\/s, \w+ the cap/)
    expect(written).toContain(path.join('here', 'A100_powercap', '20_resnet50_imagenet_150W.csv'))
  })

  it('shows help with an example', () => {
    const { status, stdout } = run(['--help'])
    expect(status).toBe(0)
    expect(stdout).toContain('--task-id <ids...>')
    expect(stdout).toContain('Example:')
  })

  it.each([
    ['an unknown board', '--gpu RTX9090', 2, /unknown GPU 'RTX9090'; known: 3080Ti/],
    ['no board where none is found', '--task-id 6', 2, /--gpu: name a board: 3080Ti, A100, all \(no NVIDIA driver/],
    ['a real board that is not there', '--gpu A100 --backend nvml', 1, /no A100 to run on: no NVIDIA driver/],
    ['parameters that are not there', '--gpu A100 --params nowhere', 1, /nowhere.*cannot be read; name a folder/],
    [
      'an unknown algorithm',
      '--gpu A100 --algorithm magic',
      2,
      /unknown algorithm 'magic'; known: pctodl, plan-limit-step/,
    ],
    ["another board's task", '--gpu A100 --task-id 6', 2, /unknown task id on A100 '6'; known: /],
    ['a task id that is no number', '--gpu A100 --task-id six', 2, /'six' is invalid. not an integer of at least 1/],
    ['no iterations', '--gpu A100 --iterations 0', 2, /'0' is invalid. not an integer of at least 1/],
    ['a negative cap', '--gpu A100 --power-cap=-5', 2, /'-5' is invalid. not a positive number of watts/],
    ['an unknown option', '--gpu A100 --fast', 2, /unknown option '--fast'/],
    ['a stray word', '--gpu A100 now', 2, /unexpected argument 'now'/],
    ['a word that every object knows', 'constructor', 2, /unexpected argument 'constructor'/],
    [
      'a cap below what the board can reach',
      '--gpu 3080Ti --task-id 6 --power-cap 40',
      1,
      /power cap 40 W cannot be kept by resnet50 .*lowest power it can run at is [\d.]+ W; raise the cap/,
    ],
  ])('answers %s with a line, a code and no files', async (_, args, code, message) => {
    const { code: ended, stdout, stderr, written } = await call(args.split(' '))
    expect(stderr).toMatch(message)
    const lines = stderr.trim().split('\n')
    expect(lines.slice(1)).toEqual(code === 2 ? ["Try 'bench-runner --help'."] : [])
    expect(ended).toBe(code)
    expect(stdout).toBe('')
    expect(written).toEqual([])
  })

  it('answers so as a program, too', () => {
    const { status, stdout, stderr, written } = run(['--gpu', 'A100', '--fast'])
    expect(stderr).toBe("bench-runner: unknown option '--fast'\nTry 'bench-runner --help'.\n")
    expect([status, stdout, written]).toEqual([2, '', []])
  })

  it('says where it cannot write, and fails', () => {
    const folder = newFolder()
    writeFileSync(path.join(folder, 'taken'), 'a file where a folder is wanted')
    const args = '--gpu A100 --algorithm powercap --task-id 20 --iterations 1 --result-dir taken'
    const { status, stdout, stderr } = run(args.split(' '), folder)
    expect(status).toBe(1)
    expect(stderr).toMatch(/--result-dir: got 'taken', expected a folder; this is a file/)
    expect(stdout).toBe('')
    expect(readFileSync(path.join(folder, 'taken'), 'utf8')).toBe('a file where a folder is wanted')
  })
})
