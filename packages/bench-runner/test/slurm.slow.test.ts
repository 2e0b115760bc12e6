import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OneNodeSlurm, slurmHindrance } from '../../job-array/test/one-node-slurm.js'

const program = path.resolve(import.meta.dirname, '../bin/bench-runner.js')
const hindrance = slurmHindrance()

describe.skipIf(hindrance)(`bench-runner --executor slurm${hindrance ? ` (skipped: ${hindrance})` : ''}`, () => {
  const cluster = new OneNodeSlurm()
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-slurm-'))
  const env = { ...process.env, SLURM_CONF: cluster.configurationFile }
  const matrix = '--gpu A100 --task-id 15 20 --algorithm pctodl,powercap --iterations 2 --seeds 2'.split(' ')

  beforeAll(() => cluster.up())
  afterAll(async () => {
    await cluster.down()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  it('gives the bytes of a run on this machine', () => {
    const results = ['here', 'cluster'].map((name) => path.join(folder, name))
    const run = (resultDir: string, ...more: string[]) =>
      spawnSync(process.execPath, [program, ...matrix, '--result-dir', resultDir, '--json', ...more], {
        env,
        encoding: 'utf8',
      })
    const here = run(results[0]!, '--jobs', '1')
    expect(here.stderr).toContain('[8/8]')
    const there = run(results[1]!, ...'--executor slurm --slurm-elements 3 --slurm-argument=--gres=gpu:1'.split(' '))
    expect(there.stderr).toContain('[8/8]')
    expect(there.status).toBe(0)
    expect(contents(results[1]!)).toEqual(contents(results[0]!))
    expect(JSON.parse(there.stdout).summaries).toEqual(JSON.parse(here.stdout).summaries)
  })

  it('cancels its jobs when interrupted', async () => {
    const queue = () =>
      spawnSync('squeue', ['--noheader', '--format=%t'], { env, encoding: 'utf8' }).stdout.split('\n').filter(Boolean)
    const until = async (isSo: (states: readonly string[]) => boolean) => {
      while (!isSo(queue())) await sleep(200)
    }
    // The jobs of the run before may still be there.
    await until((states) => states.length === 0)
    const all = '--gpu all --seeds 20 --executor slurm --slurm-elements 2'.split(' ')
    const child = spawn(
      process.execPath,
      [program, ...all, '--algorithm', 'all', '--result-dir', path.join(folder, 'cut')],
      { env, stdio: 'ignore' },
    )
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    await until((states) => states.includes('R'))
    child.kill('SIGINT')
    expect(await ended).toBe(130)
    await until((states) => !states.includes('R') && !states.includes('PD'))
  })
})

function contents(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    statSync(path.join(folder, file)).isFile(),
  )
  return Object.fromEntries(files.sort().map((file) => [file, readFileSync(path.join(folder, file), 'utf8')]))
}
