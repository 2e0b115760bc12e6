import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseTraceCsv } from '@pctodl/platform/trace-csv'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { someOf } from '../../../test/long-tests.js'
import { buildPrograms, missingCompiler, quickStart, startHost } from '../../sim-host/test/built-host.js'
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
    let worker: string
    const planFile = path.join(scratch, 'plan.json')
    const profile = (args: readonly string[], env = environment) =>
      run(process.execPath, [path.join(carried, 'programs', 'profile.js'), ...args], env)

    /** What became of the rows of a profile without one good row: it says so by its exit code, too. */
    const statuses = async (args: readonly string[], env = environment): Promise<object> => {
      const said = await profile(args, env).then(
        () => 'it ended with 0',
        (error: Error) => error.message,
      )
      return JSON.parse(/^ {2}"byStatus": (\{[^}]*\})/m.exec(said)?.[1] ?? `"${said.slice(0, 500)}"`)
    }

    beforeAll(async () => {
      programs = await buildPrograms()
      await bundleHostWorker(scratch)
      const pack = path.join(root, 'evidence/pack.mjs')
      await run(process.execPath, [pack, carried, '--without-node'], process.env)
      host = await startHost(programs.programs, { ...quickStart('A100'), gpus: 2 })
      environment = {
        ...host.env,
        PCTODL_MPS_DIR: path.join(scratch, 'mps'),
        PCTODL_LEASE_DIR: path.join(scratch, 'leases'),
        XDG_CACHE_HOME: path.join(scratch, 'cache'),
        PCTODL_NODE: process.execPath,
      }
      worker = `${process.execPath} ${path.join(scratch, 'host-worker.cjs')}`
    })
    afterAll(() => {
      host?.host.close()
      programs?.remove()
      rmSync(scratch, { recursive: true, force: true, maxRetries: 5 })
    })

    it('is proved by the script for real boards, clocks left alone, after a run that was killed', async () => {
      const folder = path.join(scratch, 'proof')
      const words = [folder, '--worker', worker, '--minutes', '0.8']
      // The daemon runs by then, and has no clients yet.
      await killOnce(path.join(carried, 'prove.sh'), words, environment, /^tenants: /m)
      const [board, ...otherBoards] = readdirSync(path.join(scratch, 'mps')).filter((name) => name.startsWith('GPU-'))
      expect(otherBoards).toEqual([])
      const daemon = path.join(scratch, 'mps', board!, 'pipe', 'nvidia-cuda-mps-control.pid')
      expect(existsSync(daemon)).toBe(true)
      const { stderr } = await run(path.join(carried, 'prove.sh'), words, environment)
      // On a slow machine one call does not reach the networks: its time is the board's.
      for (let calls = 0; calls < 5 && !proofIn(folder).rows.some(({ sweep }) => sweep === 'single'); calls++) {
        await run(path.join(carried, 'prove.sh'), words, environment)
      }
      expect(stderr).toMatch(/NVIDIA A100-PCIE-40GB \(board 0, GPU-.*\), MPS, .*host-worker\.cjs, real time/)
      const proof = proofIn(folder)
      expect(proof).toMatchObject({
        backend: 'nvml',
        board: { key: 'A100' },
        preflight: {
          tenants: { works: true },
          mps: { works: true },
          pids: { works: true },
          energyCounter: { works: true },
          powerSensor: { works: true },
          settings: { works: false },
        },
        skipped: [],
      })
      const [idle, ...loaded] = proof.rows
      expect(idle).toMatchObject({ sweep: 'static', failed: false })
      // The simulated host's processes know the zoo only.
      const networks = loaded.filter(({ sweep }) => sweep === 'single')
      expect(networks.length).toBeGreaterThan(0)
      expect(networks[0]).toMatchObject({ failed: false, targetSmClockMhz: null, memClockMhz: 1215 })
      expect(networks[0]!.energyJ).toBeGreaterThan(0)
      // No daemon, server or client is left.
      expect(existsSync(daemon)).toBe(false)
      const { stdout } = await run('nvidia-smi', ['--query-compute-apps=pid', '--format=csv,noheader'], environment)
      expect(stdout.trim()).toBe('')
    })

    it('is proved as far as it can be without PyTorch, and without the MPS daemon', async () => {
      const python = path.join(scratch, 'python')
      const program = [
        "import sys, runpy, os; sys.modules['torch'] = None",
        'file = sys.argv[2]; sys.path.insert(0, os.path.dirname(file))',
        "runpy.run_path(file, run_name='__main__')",
      ].join('; ')
      writeFileSync(python, `#!/bin/sh\nexec python3 -c "${program}" "$@"\n`, { mode: 0o755 })
      const folder = path.join(scratch, 'no-torch')
      await run(path.join(carried, 'prove.sh'), [folder], { ...environment, PCTODL_PYTHON: python })
      const { rows, skipped } = proofIn(folder)
      expect(rows.map(({ sweep }) => sweep)).toEqual(['static'])
      expect(skipped).toEqual([{ rows: expect.any(Number), because: expect.stringMatching(/needs PyTorch/) }])

      const withoutMps = (environment['PATH'] ?? '')
        .split(path.delimiter)
        .filter((each) => !existsSync(path.join(each, 'nvidia-cuda-mps-control')))
        .join(path.delimiter)
      const env = { ...environment, PATH: withoutMps }
      const alone = path.join(scratch, 'no-mps')
      await run(path.join(carried, 'prove.sh'), [alone, '--worker', worker, '--minutes', '0.5'], env)
      expect(proofIn(alone)).toMatchObject({
        preflight: { tenants: { works: true }, mps: { works: false, because: expect.stringMatching(/mps-control/) } },
        skipped: [{ because: expect.stringMatching(/^no MPS: /) }],
      })
    })

    it.each(someOf(['its Node.js']))('fits into sixty megabytes with %s', async () => {
      const packed = path.join(scratch, 'with-node')
      await run(process.execPath, [path.join(root, 'evidence/pack.mjs'), packed], process.env)
      const files = readdirSync(packed, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
      const bytes = files.reduce((sum, each) => sum + statSync(path.join(each.parentPath, each.name)).size, 0)
      expect(bytes).toBeLessThan(60e6)
      expect(files.map(({ name }) => name)).toContain('pctodl_resident_networks.py')
    })

    it('is profiled under a lease at a locked clock, and put back', async () => {
      const out = path.join(scratch, 'single.csv')
      const single = ['--single', '--models', 'mobilenet_v2', '--p', '40', '--b', '16', '--f', '810']
      await profile(['--backend', 'auto', ...single, '--dry-run', '--write-plan', planFile])
      const plan = JSON.parse(readFileSync(planFile, 'utf8'))
      // Shorter than would do for a trace.
      Object.assign(plan.measure, {
        settleWindowMs: 1000,
        settleMinMs: 1000,
        windowMinMs: 1000,
        windowMaxMs: 1000,
      })
      writeFileSync(planFile, JSON.stringify(plan))
      const real = ['--backend', 'auto', '--worker', worker, '--plan', planFile, '--json']
      const { stdout } = await profile([...real, '--out', out])
      expect(JSON.parse(stdout)).toMatchObject({ rows: 1, byStatus: { ok: 1 } })
      const [row] = parseTraceCsv(readFileSync(out, 'utf8'))
      expect(row).toMatchObject({ targetSmClockMhz: 810, smClockMhz: 810 })
      expect(host.host.gpus[0]!.truth().smClockMhz).not.toBe(810)

      // Somebody else comes to the board: a process that none of ours has started, and that is no client of our daemon.
      const stray = ['tenant', '--network', 'vgg19', '--batch', '16']
      const words = ['-c', '"$@" > /dev/null 2>&1 & echo $!', 'sh', process.execPath, programs.cli, ...stray]
      const pid = Number((await run('sh', words, environment)).stdout)
      const listed = async () =>
        (await run('nvidia-smi', ['--query-compute-apps=pid', '--format=csv,noheader'], environment)).stdout
      try {
        while (!(await listed()).includes(String(pid))) await new Promise((resolve) => setTimeout(resolve, 50))
        expect(await statuses([...real, '--out', path.join(scratch, 'foreign.csv')])).toEqual({ foreign: 1 })
      } finally {
        process.kill(pid, 'SIGKILL')
      }
      while ((await listed()).includes(String(pid))) await new Promise((resolve) => setTimeout(resolve, 50))

      // And tenants that go to another board than the one whose watts are measured.
      const elsewhere = [...real, '--no-mps', '--out', path.join(scratch, 'elsewhere.csv')]
      expect(await statuses(elsewhere, { ...environment, PCTODL_TEST_GPU: '1' })).toEqual({ 'wrong-device': 1 })
    })

    it('is detected', async () => {
      const loader = pathToFileURL(path.join(root, 'node_modules/tsx/dist/loader.mjs')).href
      const program = path.join(import.meta.dirname, 'print-boards.ts')
      const args = ['--conditions=@pctodl/source', '--import', loader, program]
      const { stdout } = await run(process.execPath, args, environment)
      const smi = await run('nvidia-smi', ['--query-gpu=uuid', '--format=csv,noheader'], environment)
      expect(JSON.parse(stdout)).toEqual({
        gpus: smi.stdout
          .trim()
          .split('\n')
          .map((uuid, index) => ({ index, name: 'NVIDIA A100-PCIE-40GB', uuid, key: 'A100' })),
        notes: [],
      })
    })

    it('says that a board is not there, and simulates nothing that was not named', async () => {
      const program = path.join(carried, 'programs', 'profile.js')
      const dry = (gpu: string, backend: string, env = environment) =>
        run(process.execPath, [program, '--single', '--gpu', gpu, '--backend', backend, '--dry-run'], env)
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

function proofIn(folder: string) {
  return JSON.parse(readFileSync(path.join(folder, 'proof.json'), 'utf8')) as {
    rows: { sweep: string; failed: boolean; energyJ: number }[]
    skipped: object[]
  }
}

function run(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    execFile(file, [...args], { env, timeout: 290_000 }, (error, stdout, stderr) => {
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
