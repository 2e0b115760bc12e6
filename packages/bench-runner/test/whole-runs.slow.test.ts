import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { algorithmGroups, algorithmNames } from '../src/algorithms.js'
import { command, newFolder, removeFolders, run } from './bench-command.js'

afterEach(removeFolders)

describe('bench-runner', () => {
  it('compares the tuned baselines on a task: results, table, charts', () => {
    const { status, stdout, stderr, cwd } = run('--gpu 3080Ti --task-id 6 --iterations 6 --chart'.split(' '))
    expect(stderr).toMatch(/task 6 resnet50\/imagenet on 3080Ti, powercap-tuned: \d+ samples\/s/)
    expect(stderr).toContain('[9/9]')
    expect(status).toBe(0)
    for (const algorithm of algorithmGroups.tuned.filter((name) => algorithmNames.includes(name))) {
      expect(stdout).toContain(algorithm)
      const file = path.join(cwd, `benchmark_results/3080Ti_${algorithm}/6_resnet50_imagenet_130W.csv`)
      const [header, ...rows] = readFileSync(file, 'utf8').trim().split('\n')
      expect(header).toBe(
        'iter,mps_resources,batch_sizes,sm_freq_mhz,mem_freq_mhz,sm_util,mem_util,throughput_total,power_avg,power_max,power_cap_w,timestamp',
      )
      expect(rows).toHaveLength(6)
      expect(rows[5]).toMatch(
        /^6,"\[[\d,]+\]","\[[\d,]+\]",\d+,\d+,[\d.]+,[\d.]+,[\d.]+,[\d.]+,[\d.]+,130,2026-01-01 00:00:25$/,
      )
    }
    const chart = path.join(cwd, 'benchmark_results/charts/3080Ti_6_resnet50_imagenet_130W')
    expect(readFileSync(`${chart}.svg`, 'utf8')).toContain('pctodl')
    expect(readFileSync(`${chart}.png`).subarray(1, 4).toString()).toBe('PNG')
  })

  it('runs what killed workers leave, and names the runs that ended with them', async () => {
    const cwd = newFolder()
    // Runs of some tenths of a second, so that a signal hits a worker in the middle of one.
    const argv = [
      '--gpu',
      '3080Ti',
      '--algorithm',
      'pctodl',
      '--task-id',
      '6',
      '7',
      '8',
      '9',
      '10',
      '--iterations',
      '100',
      '--jobs',
      '2',
      '--json',
    ]
    const child = spawn(process.execPath, [command, ...argv], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    let [stdout, stderr, killed] = ['', '', false]
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString()
    })
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
      if (killed || !stderr.includes('[2/5]')) return
      killed = true
      // Both: while one runs its third cell, the other may be starting still.
      const workers = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')
      for (const worker of workers) process.kill(Number(worker), 'SIGKILL')
    })
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(1)
    const { summaries, failures } = JSON.parse(stdout) as { summaries: unknown[]; failures: { message: string }[] }
    expect(summaries.length + failures.length).toBe(5)
    expect(failures.length).toBeGreaterThan(0)
    expect(failures.length).toBeLessThan(4)
    for (const { message } of failures) expect(message).toContain('SIGKILL')
  })

  it('leaves no half results when interrupted, and says so', async () => {
    const cwd = newFolder()
    const child = spawn(process.execPath, [command, '--gpu', '3080Ti', '--algorithm', 'tuned', '--iterations', '5'], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stderr = ''
    let interrupted = false
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
      if (!interrupted && stderr.includes('[3/144]')) interrupted = child.kill('SIGINT')
    })
    const code = await new Promise((resolve) => child.once('exit', resolve))
    expect(code).toBe(130)
    expect(stderr).toContain('interrupted')
    const written = readdirSync(cwd, { recursive: true }).map(String)
    expect(written.filter((file) => file.endsWith('.csv')).length).toBeGreaterThanOrEqual(3)
    expect(written.filter((file) => file.includes('unfinished'))).toEqual([])
  })
})
