import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type NvmlGpu, openGpu } from '@pctodl/nvml-control'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import {
  buildPrograms,
  eventually,
  everything,
  missingUsers,
  type Node,
  startNode,
} from '../../node-service/test/node-host.js'
import { govern as governCommand } from '../src/commands.js'
import type { GovernStep } from '../src/index.js'
import { TritonStandIn } from './triton-stand-in.js'

/** The promise is 5 s; a machine that is busy with other things gets more before that means anything. */
const LIMIT_MS = process.env['PCTODL_GOVERN_STRICT'] ? 5000 : 15_000
/** The board runs this and more where nobody holds it. */
const ALONE_MHZ = 1200

describe.skipIf(missingUsers)(
  `the governor and what becomes of its clocks${missingUsers ? ` (${missingUsers})` : ''}`,
  () => {
    const triton = new TritonStandIn()
    let node: Node
    let gpu: NvmlGpu
    let service: ChildProcess
    let serve: () => Promise<void>
    let programs: Awaited<ReturnType<typeof buildPrograms>>
    let governor: ChildProcess
    let log: string
    let printed = ''

    const start = (program: string, ...words: string[]) =>
      spawn(process.execPath, [programs.file(program), ...words], {
        env: { ...process.env, PCTODL_SERVICE_SOCKET: node.options.socket },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
    const steps = (): GovernStep[] =>
      existsSync(log)
        ? readFileSync(log, 'utf8')
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line))
        : []
    const clockMhz = async () => (await gpu.sample()).smClockMhz ?? 0
    const isHeld = async () => (steps().at(-1)?.smClockMhz ?? ALONE_MHZ) < ALONE_MHZ && (await clockMhz()) < ALONE_MHZ
    const held = () => eventually(isHeld, () => `a low clock is held: ${JSON.stringify(steps().at(-1))}`)
    /** @returns ms until the operator's clocks run */
    const back = async (why: string) => {
      const startMs = performance.now()
      await eventually(async () => (await clockMhz()) >= ALONE_MHZ, `the operator's clocks are back: ${why}`)
      return performance.now() - startMs
    }
    const govern = () => {
      governor = start(
        'govern',
        '--config',
        path.join(node.folder, 'govern.yaml'),
        '--log',
        log,
        '--library',
        node.libraryPath,
      )
      governor.stdout!.setEncoding('utf8').on('data', (text) => {
        printed += text
      })
    }
    /** A dry run, until it has said what it would hold, or has ended. */
    const observe = async (...words: string[]) => {
      const child = spawn(process.execPath, [
        programs.file('govern'),
        '--dry-run',
        '--library',
        node.libraryPath,
        ...words,
      ])
      const said = { stdout: '', stderr: '' }
      for (const name of ['stdout', 'stderr'] as const)
        child[name].setEncoding('utf8').on('data', (text: string) => {
          said[name] += text
        })
      await eventually(
        () => said.stdout.includes('would hold') || child.exitCode !== null,
        () => JSON.stringify(said),
      )
      child.kill('SIGTERM')
      await ended(child)
      return { code: child.exitCode, ...said }
    }
    const ended = (child: ChildProcess) =>
      child.exitCode !== null || child.signalCode !== null
        ? Promise.resolve()
        : new Promise((resolve) => child.once('exit', resolve))

    beforeAll(async () => {
      const tenants = [{ gpuIndex: 0, model: 'mobilenet_v2', mpsPercent: 100, batchSize: 1 }]
      node = await startNode({ privilege: 'root', tenants })
      node.allow(everything([process.getuid!()]))
      log = path.join(node.folder, 'govern.jsonl')
      programs = await buildPrograms({ govern: path.join(import.meta.dirname, 'fixtures', 'govern.ts') })
      await triton.start()
      writeFileSync(
        path.join(node.folder, 'govern.yaml'),
        `services: [{name: photos, triton: '${triton.url}', metrics: '${triton.url}/metrics', model: m, objective: {ms: 100}}]\n`,
      )
      gpu = await openGpu(0, { libraryPath: node.libraryPath, access: 'direct' })
      const { socket, policyFile, stateFolder, mpsFolder } = node.options
      const places = ['--socket', socket, '--policy', policyFile, '--state', stateFolder, '--mps', mpsFolder]
      serve = async () => {
        service = start('pctodld', 'serve', ...places, '--library', node.libraryPath, '--http', 'none')
        service.stdout!.resume()
        await eventually(() => existsSync(socket!), 'the service listens')
      }
      await serve()
      govern()
    })
    afterAll(async () => {
      for (const child of [governor, service]) {
        child?.kill('SIGCONT')
        child?.kill('SIGTERM')
        if (child) await ended(child)
      }
      await triton.stop()
      programs?.remove()
      await node?.stop()
    })

    it('holds a low clock for a light load', async () => {
      await held()
      expect(steps().at(-1)!.services[0]).toMatchObject({ name: 'photos', state: 'serving', lateShare: 0 })
      const line = /^\d+ MHz \(lowest clock\) {2}\d+ W {2}photos \d+\/s 0\.0 % late$/m
      await eventually(
        () => line.test(printed),
        () => printed,
      )
    })

    it('observes on although its log cannot be written', async () => {
      const file = path.join(node.folder, 'govern.yaml')
      // An address in brackets, as URLs have those of IPv6.
      const http = ['--http', '[127.0.0.1]:0']
      const { code, stderr, stdout } = await observe('--config', file, '--log', '/dev/full', ...http)
      expect(stderr).toMatch(/^pctodl govern: --log \/dev\/full: ENOSPC.*; steps are lost until it can be written\n$/)
      expect(stdout).toContain('would hold')
      expect(code).toBe(0)
    })

    it('says once an hour that its log cannot be written', async () => {
      // Of its own, because its requests are counted.
      const own = new TritonStandIn()
      await own.start()
      const file = path.join(node.folder, 'hours.yaml')
      writeFileSync(file, readFileSync(path.join(node.folder, 'govern.yaml'), 'utf8').replaceAll(triton.url, own.url))
      const words = ['--dry-run', '--library', node.libraryPath, '--config', file, '--log', '/dev/full']
      const begun = performance.now.bind(performance)
      let passedMs = 0
      const clock = vi.spyOn(performance, 'now').mockImplementation(() => begun() + passedMs)
      const ending = new AbortController()
      const told: string[] = []
      const call = callCommand('pctodl govern', governCommand, words, {
        signal: ending.signal,
        onError: (text) => told.push(text),
      })
      const later = async (ms: number) => {
        passedMs += ms
        const asked = own.asked('/metrics')
        await eventually(() => own.asked('/metrics') > asked + 3, 'some more steps')
      }
      try {
        await eventually(() => told.length > 0, 'the first message')
        await later(0)
        await later(3_500_000)
        expect(told).toHaveLength(1)
        await later(200_000)
        expect(told).toHaveLength(2)
        for (const text of told) expect(text).toMatch(/--log \/dev\/full: ENOSPC/)
      } finally {
        ending.abort()
        await call
        clock.mockRestore()
        await own.stop()
      }
    })

    it('is refused by name for a board that the machine does not have', async () => {
      const file = path.join(node.folder, 'no-board.yaml')
      for (const gpu of ['H100', 'GPU-00000000-0000-0000-0000-000000000000', '7', '"../0"', '00000000:99:00.0']) {
        writeFileSync(file, `gpu: ${gpu}\n${readFileSync(path.join(node.folder, 'govern.yaml'), 'utf8')}`)
        const { code, stderr } = await observe('--config', file)
        expect(code, gpu).toBe(1)
        expect(stderr).toMatch(/^pctodl govern: nvmlDevice\w+ for GPU .*: .*see `pctodl gpu \w+`/)
        expect(stderr).toContain(`GPU ${gpu.replaceAll('"', '')}:`)
      }
    })

    it('gives it back when the server is gone, and governs again when it has restarted', async () => {
      await held()
      await triton.stop()
      expect(await back('the server is gone')).toBeLessThan(LIMIT_MS)
      await triton.start()
      await held()
    })

    it('takes counters that begin again for a restart', async () => {
      await held()
      await triton.stop()
      await triton.start()
      const isReset = () => steps().some(({ services: [photos] }) => photos!.state === 'reset')
      await eventually(isReset, 'a reset is seen')
      expect(Math.min(...steps().map(({ services: [photos] }) => photos!.requests))).toBeGreaterThanOrEqual(0)
      await held()
    })

    it('gives it back while a scrape takes 10 s', async () => {
      await held()
      triton.delayMs = 10_000
      expect(await back('scrapes are late')).toBeLessThan(LIMIT_MS)
      triton.delayMs = 0
      await held()
    })

    it('gives it back while the server drains', async () => {
      await held()
      triton.drains = true
      expect(await back('the server drains')).toBeLessThan(LIMIT_MS)
      triton.drains = false
      await held()
    })

    it('governs again when the node service has restarted, and when it allows again what it refused', async () => {
      await held()
      service.kill('SIGTERM')
      await ended(service)
      expect(await back('the service has ended')).toBeLessThan(LIMIT_MS)
      node.allow()
      await serve()
      // Until it has asked and was refused.
      const before = steps().length
      await eventually(() => steps().length > before + 30, 'it goes on looking')
      expect(await clockMhz()).toBeGreaterThanOrEqual(ALONE_MHZ)
      node.allow(everything([process.getuid!()]))
      await held()
    })

    it('loses it when it hangs, and when it is killed', async () => {
      await held()
      governor.kill('SIGSTOP')
      expect(await back('the governor hangs')).toBeLessThan(LIMIT_MS)
      governor.kill('SIGCONT')
      await held()
      governor.kill('SIGKILL')
      expect(await back('the governor is killed')).toBeLessThan(LIMIT_MS)
      await ended(governor)
      govern()
      await held()
    })
  },
)
