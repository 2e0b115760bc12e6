import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadNvml } from '@pctodl/nvml-control'
import { torchWorkerFile } from '@pctodl/tenants'
import { describe, expect, it, vi } from 'vitest'
import { othersReach } from '../../../test/others-reach.js'
import type { Finding } from '../src/doctor/finding.js'
import { run } from './run-pctodl.js'

const hasDriver = (() => {
  try {
    loadNvml()
    return true
  } catch {
    return false
  }
})()

function named(findings: readonly Finding[], check: string): Finding {
  return findings.find((finding) => finding.check === check)!
}

describe('pctodl doctor', () => {
  it.skipIf(hasDriver)(
    `says on a machine without a GPU what works and what to do${hasDriver ? ' (skipped: this one has a driver)' : ''}`,
    async () => {
      const { code, stdout } = await run('doctor', '--json')
      expect(code).toBe(0)
      const { works, findings } = JSON.parse(stdout) as { works: boolean; findings: Finding[] }
      expect(works).toBe(true)
      expect(named(findings, 'simulated board')).toMatchObject({
        verdict: 'ok',
        detail: expect.stringMatching(/\d W$/),
      })
      expect(named(findings, 'predictor').detail).toContain('3080Ti')
      expect(named(findings, 'driver')).toMatchObject({
        verdict: 'absent',
        advice: expect.stringContaining('apt install'),
      })
      for (const { verdict, advice } of findings) if (verdict !== 'ok') expect(advice).toMatch(/\w/)
      const text = await run('doctor')
      expect(text.code).toBe(0)
      for (const { check, detail } of findings) expect(text.stdout).toContain(`${check.padEnd(15)}  ${detail}`)
      expect(text.stdout).toMatch(/\nWorks here: simulated boards/)
      expect(text.stdout).not.toContain('real boards.')
      const isBroken = findings.some(({ verdict }) => verdict === 'broken')
      expect(text.stdout.includes('To be mended')).toBe(isBroken)
    },
  )

  it('names what is broken, and what is there', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-doctor-'))
    const file = (name: string, text = '', mode = 0o644) => {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
      writeFileSync(path.join(folder, name), text, { mode })
      return path.join(folder, name)
    }
    const python = file(
      'python',
      '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.99 || echo torch 9 with NEITHER\n',
      0o755,
    )
    file('pctodl-tenants/models/resnet50.onnx')
    file('leases/GPU-1.json', '{}')
    chmodSync(path.join(folder, 'leases'), 0o777)
    vi.stubEnv('PCTODL_PYTHON', python)
    vi.stubEnv('XDG_CACHE_HOME', folder)
    try {
      const { code, stdout } = await run('doctor', '--lease-dir', path.join(folder, 'leases'))
      expect(code).toBe(0)
      expect(stdout).toMatch(/^ok +Python +Python 3\.99 \(.*\/python\)$/m)
      expect(stdout).toMatch(/^BROKEN PyTorch +torch 9 with NEITHER\n +-> .*torchvision/m)
      expect(stdout).toMatch(/^BROKEN leases .*\n +-> make the folder yours alone/m)
      expect(stdout).toMatch(/^ok +model files +resnet50 in .*models$/m)
      expect(stdout).toMatch(/ To be mended: leases, PyTorch\.\n$/)
      // Of a traceback, the last line is the reason.
      const failing =
        '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.99 || { echo Traceback; echo No module torch; exit 1; } >&2\n'
      writeFileSync(python, failing)
      expect((await run('doctor', '--lease-dir', path.join(folder, 'leases'))).stdout).toMatch(
        /^- +PyTorch +No module torch$/m,
      )
      chmodSync(path.join(folder, 'leases'), 0o700)
      vi.stubEnv('PCTODL_PYTHON', path.join(folder, 'no-python'))
      const { findings } = JSON.parse(
        (await run('doctor', '--json', '--lease-dir', path.join(folder, 'leases'))).stdout,
      )
      expect(named(findings, 'leases').verdict).toBe('broken')
      expect(named(findings, 'Python')).toMatchObject({
        verdict: 'absent',
        detail: expect.stringContaining('no-python'),
      })
      const onnx = path.dirname(createRequire(torchWorkerFile()).resolve('onnxruntime-node/package.json'))
      const hasCuda = readdirSync(onnx, { recursive: true }).some((name) => /providers_cuda\.so$/.test(String(name)))
      expect(named(findings, 'ONNX Runtime').detail).toMatch(hasCuda ? / with CUDA$/ : /, on the processor$/)
    } finally {
      vi.unstubAllEnvs()
      rmSync(folder, { recursive: true })
    }
  })

  it('says who may change boards where the node service answers, or does not make sense', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-doctor-'))
    const socket = path.join(folder, 'pctodld.sock')
    let result: string | undefined = '{"version":3,"service":"1.0.0","boards":[]}'
    const clients: Socket[] = []
    const service = createServer((client) => {
      clients.push(client)
      client.on('error', () => {})
      client.on('data', (line) => {
        client.write(result ? `{"id":${JSON.parse(String(line)).id},"result":${result}}\n` : 'nonsense\n')
      })
    })
    await new Promise<void>((resolve) => service.listen(socket, resolve))
    vi.stubEnv('PCTODL_SERVICE_SOCKET', socket)
    vi.stubEnv('PATH', folder)
    try {
      const permission = async () => named(JSON.parse((await run('doctor', '--json')).stdout).findings, 'permission')
      expect(await permission()).toMatchObject({ verdict: 'ok', detail: expect.stringContaining(socket) })
      result = undefined
      expect(await permission()).toMatchObject({
        verdict: 'broken',
        advice: expect.stringContaining('journal of pctodl node'),
      })
    } finally {
      vi.unstubAllEnvs()
      for (const client of clients) client.destroy()
      await new Promise((resolve) => service.close(resolve))
      rmSync(folder, { recursive: true })
    }
  })

  it('names what does not load, and stays a help', async () => {
    const { code, stdout } = await run('doctor', '--library', '/nowhere/libnvidia-ml.so.1', '--json')
    expect(code).toBe(0)
    expect(named(JSON.parse(stdout).findings, 'NVML').verdict).not.toBe('ok')
  })

  const missing =
    process.geteuid?.() !== 0
      ? ' (skipped: only root can become one)'
      : othersReach(import.meta.dirname)
        ? ''
        : ' (skipped: other users cannot enter the folder of this clone)'
  it.skipIf(missing)(`helps a user whom the machine has no name for, as in containers${missing}`, async () => {
    // First as root: what is loaded on demand may lie where only root can read.
    await run('doctor')
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl doctor-'))
    chmodSync(folder, 0o777)
    const locked = path.join(folder, 'locked')
    mkdirSync(locked, { mode: 0o700 })
    vi.stubEnv('XDG_CACHE_HOME', folder)
    // Of root's PATH such a user cannot enter every folder.
    vi.stubEnv('PATH', `${locked}:/usr/bin:/bin`)
    process.seteuid!(54_321)
    try {
      const { code, stdout, stderr } = await run('doctor', '--json')
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const { findings } = JSON.parse(stdout) as { readonly findings: readonly Finding[] }
      expect(named(findings, 'permission')).toMatchObject({
        verdict: 'absent',
        detail: expect.stringContaining('user 54321 is not root'),
        advice: expect.stringContaining('run as root'),
      })
      for (const { check, detail } of findings) expect(detail, check).toMatch(/^[^;]*\w/)
      for (const { check, detail } of findings) expect(detail, check).not.toContain('EACCES')
    } finally {
      process.seteuid!(0)
      vi.unstubAllEnvs()
      rmSync(folder, { recursive: true })
    }
  })

  it('refuses what it does not know', async () => {
    expect(await run('doctor', '--fix')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/unknown option '--fix'/),
    })
  })
})
