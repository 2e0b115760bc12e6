import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleHostWorker } from '../../backend/test/bundle-host-worker.js'
import { buildPrograms, missingCompiler, quickStart, startHost } from '../../sim-host/test/built-host.js'

/** The matrix on boards that are seen through the driver: real NVML calls, an MPS daemon, a process for each tenant. */
describe.skipIf(missingCompiler)(`bench-runner --backend nvml (${missingCompiler ?? 'on a simulated host'})`, () => {
  const scratch = mkdtempSync(path.join(tmpdir(), 'bench-real-board-'))
  let programs: Awaited<ReturnType<typeof buildPrograms>>
  let host: Awaited<ReturnType<typeof startHost>>

  beforeAll(async () => {
    programs = await buildPrograms()
    await bundleHostWorker(scratch)
    host = await startHost(programs.programs, quickStart('A100'))
  })

  afterAll(async () => {
    await host?.host.close()
    programs?.remove()
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 })
  })

  function run(program: string, ...args: string[]) {
    const env = {
      ...host.env,
      PCTODL_MPS_DIR: path.join(scratch, 'mps'),
      PCTODL_LEASE_DIR: path.join(scratch, 'leases'),
      XDG_CACHE_HOME: path.join(scratch, 'cache'),
    }
    const child = spawn(program, args, { cwd: scratch, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const text = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (chunk: string) => {
        text[name] += chunk
      })
    }
    return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code) => resolve({ code, ...text }))
    })
  }

  const benchRunner = (...args: string[]) =>
    run(process.execPath, path.resolve(import.meta.dirname, '../bin/bench-runner.js'), ...args)

  it('finds the board and its tasks', async () => {
    const { code, stdout, stderr } = await benchRunner('--detect-gpu')
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^0 {2}NVIDIA A100-PCIE-40GB \(GPU-.*\): --gpu A100, tasks [\d ]* 28 29 30\n$/)
    expect(code).toBe(0)
  })

  it('runs a task with two algorithms under a lease, records what it ran on, and leaves the board as it was', async () => {
    const query = ['--query-gpu=clocks.max.sm,power.limit,compute_mode,clocks.sm', '--format=csv,noheader']
    const before = await run('nvidia-smi', ...query)
    const matrix = (iterations: number) =>
      benchRunner(
        ...['--backend', 'nvml', '--task-id', '20', '--algorithm', 'pctodl,powercap', '--iterations', `${iterations}`],
        ...['--worker', `${process.execPath} ${path.join(scratch, 'host-worker.cjs')}`, '--json'],
      )
    // Windows are of real time: where tenants need longer to start than two of them last, more are waited for.
    let summaries: { readonly throughput: number; readonly powerSource: string }[] = []
    for (const iterations of [2, 6, 18]) {
      const { code, stdout, stderr } = await matrix(iterations)
      expect(stderr).toMatch(/task 20 resnet50\/imagenet on A100, pctodl: \d+ samples\/s/)
      expect(code).toBe(0)
      const result = JSON.parse(stdout)
      expect(result.failures).toEqual([])
      summaries = result.summaries
      if (summaries.every(({ throughput }) => throughput > 100)) break
    }
    expect(summaries).toHaveLength(2)
    for (const summary of summaries) {
      expect(summary.throughput).toBeGreaterThan(100)
      expect(summary.powerSource).toBe('sensor')
    }
    const file = path.join(scratch, 'benchmark_results/A100_pctodl/20_resnet50_imagenet_150W.manifest.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8'))
    expect(manifest.board).toMatchObject({ name: 'NVIDIA A100-PCIE-40GB', tenants: expect.stringContaining('MPS') })
    expect(manifest.cell.real.worker).toContain('host-worker.cjs')
    expect(await run('nvidia-smi', ...query)).toEqual(before)
    const { stdout: processes } = await run('nvidia-smi', '--query-compute-apps=pid', '--format=csv,noheader')
    expect(processes.trim()).toBe('')
  }, 600_000)

  it("refuses the simulator's conveniences", async () => {
    for (const [args, message] of [
      ['--variants 2', /--variants: real boards have no variants/],
      ['--jobs 2', /--jobs: one run at a time on a real board/],
      ['--gpu 3080Ti', /no 3080Ti to run on: in this machine: NVIDIA A100/],
    ] as const) {
      const { code, stderr } = await benchRunner('--backend', 'nvml', ...args.split(' '))
      expect(stderr).toMatch(message)
      expect(code).not.toBe(0)
    }
  })
})
