import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { loadNvml } from '@pctodl/nvml-control'
import { describe, expect, it } from 'vitest'
import type { Finding } from '../src/index.js'
import { run } from './run-pctodl.js'

const built = fileURLToPath(new URL('../bin/pctodl.js', import.meta.url))

const hasDriver = (() => {
  try {
    loadNvml()
    return true
  } catch {
    return false
  }
})()

const hasCompiler = (() => {
  try {
    execFileSync(process.env['CC'] || 'cc', ['--version'], { stdio: 'ignore' })
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
    },
  )

  it.skipIf(!hasCompiler)(
    `finds driver, boards and MPS where they are${hasCompiler ? '' : ' (skipped: no C compiler)'}`,
    () => {
      const words = ['sim', 'host', '--gpu', 'A100', '--gpus', '2', '--', process.execPath, built, 'doctor', '--json']
      const { findings } = JSON.parse(execFileSync(process.execPath, [built, ...words], { encoding: 'utf8' })) as {
        findings: Finding[]
      }
      for (const check of ['driver', 'NVML', 'GPU 0', 'GPU 1', 'MPS']) expect(named(findings, check).verdict).toBe('ok')
      expect(named(findings, 'GPU 1').detail).toMatch(/A100/)
      expect(named(findings, 'GPU 0').advice).toMatch(/pctodl fit/)
    },
  )

  it('names what does not load, and stays a help', async () => {
    const { code, stdout } = await run('doctor', '--library', '/nowhere/libnvidia-ml.so.1', '--json')
    expect(code).toBe(0)
    expect(named(JSON.parse(stdout).findings, 'NVML').verdict).not.toBe('ok')
  })

  it('refuses what it does not know', async () => {
    expect(await run('doctor', '--fix')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/unknown option '--fix'/),
    })
  })
})
