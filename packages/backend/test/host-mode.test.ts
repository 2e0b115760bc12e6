import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseTraceCsv } from '@pctodl/platform'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildPrograms, missingCompiler, quickStart, startHost } from '../../gpu-sim/test/host/built-host.js'
import { bundleHostWorker } from './bundle-host-worker.js'

/** What is carried to a machine with a GPU, run against a simulated host instead: real NVML calls, a real MPS daemon's life. */
describe.skipIf(missingCompiler)(
  `a board that is seen through the driver (${missingCompiler ?? 'simulated host'})`,
  () => {
    const root = path.resolve(import.meta.dirname, '../../..')
    const scratch = mkdtempSync(path.join(tmpdir(), 'pctodl-host-mode-'))
    const carried = path.join(scratch, 'carried')
    let programs: Awaited<ReturnType<typeof buildPrograms>>
    let host: Awaited<ReturnType<typeof startHost>>
    let environment: NodeJS.ProcessEnv

    beforeAll(async () => {
      programs = await buildPrograms()
      await bundleHostWorker(scratch)
      const pack = path.join(root, 'evidence/real-gpu/pack.mjs')
      await run(process.execPath, [pack, carried, '--without-node'], process.env)
      host = await startHost(programs.programs, quickStart('A100'))
      environment = {
        ...host.env,
        PCTODL_MPS_DIR: path.join(scratch, 'mps'),
        PCTODL_LEASE_DIR: path.join(scratch, 'leases'),
        XDG_CACHE_HOME: path.join(scratch, 'cache'),
        PCTODL_NODE: process.execPath,
        PCTODL_WORKER: `${process.execPath} ${path.join(scratch, 'host-worker.cjs')}`,
      }
    }, 120_000)
    afterAll(() => {
      host?.host.close()
      programs?.remove()
      rmSync(scratch, { recursive: true, force: true })
    })

    it('is profiled by the script for real boards, clocks left alone, after a run that was killed', async () => {
      const matrix = path.join(scratch, 'matrix.json')
      writeFileSync(matrix, JSON.stringify({ stressMatrix: [{ mpsPct: 10, taskCounts: [2], batches: [8] }] }))
      const folder = path.join(scratch, 'traces')
      const script = path.join(carried, 'profile.sh')
      const env = { ...environment, PCTODL_MATRIX: matrix }
      // The daemon runs by then, and has no clients yet.
      await killOnce(script, [folder, 'resnet50'], env, /^tenants: /m)
      const daemon = path.join(scratch, 'mps', 'pipe', 'nvidia-cuda-mps-control.pid')
      expect(existsSync(daemon)).toBe(true)
      const { stderr } = await run(script, [folder, 'resnet50'], env)
      expect(stderr).toMatch(/NVIDIA A100-PCIE-40GB \(board 0, GPU-.*\), MPS, .*host-worker\.cjs, real time/)
      const [row, ...others] = parseTraceCsv(readFileSync(path.join(folder, 'resnet50.csv'), 'utf8'))
      expect(others).toEqual([])
      expect(row).toMatchObject({ failed: false, targetSmClockMhz: null, memClockMhz: 1215 })
      // The shares are bound by MPS: two tenants of 10 % draw what they draw, not what a whole board would.
      expect(row!.tenantThroughput).toHaveLength(2)
      expect(row!.powerAverageW).toBeGreaterThan(45)
      expect(row!.powerAverageW).toBeLessThan(130)
      const manifest = JSON.parse(readFileSync(path.join(folder, 'resnet50.manifest.json'), 'utf8'))
      expect(manifest).toMatchObject({ backend: 'nvml', board: { key: 'A100' } })
      // No daemon, server or client is left.
      expect(existsSync(daemon)).toBe(false)
      const { stdout } = await run('nvidia-smi', ['--query-compute-apps=pid', '--format=csv,noheader'], environment)
      expect(stdout.trim()).toBe('')
    })

    it('is profiled under a lease at a locked clock, and put back', async () => {
      const out = path.join(scratch, 'single.csv')
      const planFile = path.join(scratch, 'plan.json')
      const profile = (args: readonly string[]) =>
        run(process.execPath, [path.join(carried, 'programs', 'pctodl-profile.js'), ...args], environment)
      const single = ['--single', '--models', 'mobilenet_v2', '--p', '40', '--b', '16', '--f', '810']
      await profile(['--backend', 'auto', ...single, '--dry-run', '--write-plan', planFile])
      const plan = JSON.parse(readFileSync(planFile, 'utf8'))
      // Shorter than would do for a trace.
      Object.assign(plan.measure, {
        settleWindowMs: 1000,
        settleLeastMs: 1000,
        windowLeastMs: 1000,
        windowMostMs: 1000,
      })
      writeFileSync(planFile, JSON.stringify(plan))
      const worker = environment['PCTODL_WORKER']!
      const { stdout } = await profile([
        '--backend',
        'auto',
        '--worker',
        worker,
        '--plan',
        planFile,
        '--out',
        out,
        '--json',
      ])
      expect(JSON.parse(stdout)).toMatchObject({ rows: 1, byStatus: { ok: 1 } })
      const [row] = parseTraceCsv(readFileSync(out, 'utf8'))
      expect(row).toMatchObject({ targetSmClockMhz: 810, smClockMhz: 810 })
      expect(host.host.gpus[0]!.truth().smClockMhz).not.toBe(810)
    })

    it('is detected', async () => {
      const loader = pathToFileURL(path.join(root, 'node_modules/tsx/dist/loader.mjs')).href
      const program = path.join(import.meta.dirname, 'print-boards.ts')
      const args = ['--conditions=@pctodl/source', '--import', loader, program]
      const { stdout } = await run(process.execPath, args, environment)
      const smi = await run('nvidia-smi', ['--query-gpu=uuid', '--format=csv,noheader'], environment)
      expect(JSON.parse(stdout)).toEqual({
        gpus: [{ index: 0, name: 'NVIDIA A100-PCIE-40GB', uuid: smi.stdout.trim(), key: 'A100' }],
        notes: [],
      })
    })

    it('says that a board is not there, and simulates nothing that was not named', async () => {
      const profile = path.join(carried, 'programs', 'pctodl-profile.js')
      const dry = (gpu: string, backend: string, env = environment) =>
        run(process.execPath, [profile, '--single', '--gpu', gpu, '--backend', backend, '--dry-run'], env)
      await expect(dry('3080Ti', 'nvml')).rejects.toThrow(
        /no NVIDIA GeForce RTX 3080 Ti is in this machine \(there: 0: NVIDIA A100/,
      )
      expect((await dry('3080Ti', 'auto')).stderr).toMatch(
        /simulated NVIDIA GeForce RTX 3080 Ti .*, because no NVIDIA GeForce RTX 3080 Ti/,
      )
      expect((await dry('A100', 'auto')).stderr).toMatch(/^NVIDIA A100-PCIE-40GB \(board 0/)
      await expect(dry('7', 'nvml')).rejects.toThrow(/no board 7 is in this machine \(there: 0: NVIDIA A100/)
    })
  },
)

function run(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    execFile(file, [...args], { env, timeout: 110_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout}${stderr}`))
      else resolve({ stdout, stderr })
    })
  })
}

/** Start a program, and end it and its children with SIGKILL as soon as it writes something to standard error. */
function killOnce(file: string, args: readonly string[], env: NodeJS.ProcessEnv, moment: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
    let said = ''
    child.stderr.on('data', (text: Buffer) => {
      said += text
      if (moment.test(said)) process.kill(-child.pid!, 'SIGKILL')
    })
    child.on('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve()
      else reject(new Error(`it ended by itself (${code}): ${said}`))
    })
  })
}
