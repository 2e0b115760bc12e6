import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { smiArguments } from '../src/control/smi-arguments.js'
import { boardFacts } from '../src/describe/board-facts.js'
import type { BoardChange } from '../src/index.js'
import { LeaseFolder, loadNvml, openGpu, smiControl, sudoersDropIn, withLease } from '../src/index.js'
import { buildFaultyNvml, type FaultyNvml } from './faulty-nvml.js'
import { missingCompiler, type RunningHost, startHost } from './simulated-host.js'

const fixtures = fileURLToPath(new URL('./fixtures', import.meta.url))

describe.skipIf(missingCompiler)(`nvidia-smi as second path${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: RunningHost
  let faulty: FaultyNvml
  let notes: string
  const before = { ...process.env }

  beforeAll(async () => {
    host = await startHost({ gpus: 2 })
    faulty = buildFaultyNvml(host.libraryPath)
    notes = path.join(host.leaseFolder, 'sudo.notes')
    Object.assign(process.env, host.environment, { SUDO_NOTES: notes })
    process.env['PATH'] = `${fixtures}:${process.env['PATH']}`
  })
  afterEach(() => {
    delete process.env['SUDO_REFUSES']
    rmSync(notes, { force: true })
    faulty?.clear()
  })
  afterAll(async () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
    faulty?.remove()
    await host?.stop()
  })

  const device = () => loadNvml({ libraryPath: host.libraryPath }).deviceByIndex(0)
  const sudoCalls = () => readFileSync(notes, 'utf8').trim().split('\n')

  it('takes over where NVML lacks the permission, through sudo -n, with one board named by its UUID', async () => {
    for (const name of ['nvmlDeviceSetPowerManagementLimit', 'nvmlDeviceSetComputeMode'] as const)
      faulty.answer(name, 4)
    const gpu = await openGpu(0, {
      libraryPath: faulty.libraryPath,
      leaseFolder: host.leaseFolder,
      control: { smi: { sudo: 'always' } },
    })
    await withLease(gpu, async (lease) => {
      expect(lease.path).toBe('nvml')
      await lease.setPowerLimit(250)
      expect(lease.path).toBe('nvidia-smi')
      await lease.setComputeMode('exclusive-process')
      expect([device().powerLimitW(), device().computeMode()]).toEqual([250, 'exclusive-process'])
    })
    expect([device().powerLimitW(), device().computeMode()]).toEqual([350, 'default'])
    const uuid = device().uuid
    expect(sudoCalls()).toEqual([
      `-n nvidia-smi -i ${uuid} -pl 250`,
      `-n nvidia-smi -i ${uuid} -c 3`,
      `-n nvidia-smi -i ${uuid} -pl 350`,
      `-n nvidia-smi -i ${uuid} -c 0`,
    ])
    // The neighbour was never touched.
    expect(loadNvml({ libraryPath: host.libraryPath }).deviceByIndex(1).powerLimitW()).toBe(350)
  })

  it('says who has to allow what where sudo refuses', async () => {
    process.env['SUDO_REFUSES'] = '1'
    faulty.answer('nvmlDeviceSetPowerManagementLimit', 4)
    const options = {
      libraryPath: faulty.libraryPath,
      leaseFolder: host.leaseFolder,
      control: { smi: { sudo: 'always' } },
    } as const
    const gpu = await openGpu(0, options)
    await withLease(gpu, async (lease) => {
      await expect(lease.setPowerLimit(250)).rejects.toMatchObject({
        code: 'NO_PERMISSION',
        command: expect.stringMatching(/^sudo -n nvidia-smi -i GPU-\S+ -pl 250$/),
        message: expect.stringContaining('pctodl-gpu sudoers'),
      })
      // Locks cannot be read back, so nothing but the refusal itself says that there is nothing to undo.
      faulty.answer('nvmlDeviceSetGpuLockedClocks', 4)
      faulty.answer('nvmlDeviceResetGpuLockedClocks', 4)
      await expect(lease.lockSmClock(1005)).rejects.toMatchObject({ code: 'NO_PERMISSION' })
      expect(new LeaseFolder(host.leaseFolder).journaled()).toEqual([])
    })
    expect(new LeaseFolder(host.leaseFolder).journaled()).toEqual([])
  })

  it('makes every change, in a process that lives and in one that ends', async () => {
    const control = smiControl(device().uuid, { sudo: 'never' })
    const changes: BoardChange[] = [
      { kind: 'power-limit', powerLimitW: 250.5 },
      { kind: 'sm-clock', range: { minMhz: 210, maxMhz: 1005 } },
      { kind: 'mem-clock', range: { minMhz: 9501, maxMhz: 9501 } },
      { kind: 'sm-clock', range: null },
      { kind: 'mem-clock', range: null },
      { kind: 'compute-mode', mode: 'prohibited' },
      { kind: 'persistence', enabled: true },
    ]
    for (const change of changes) await control.apply(change)
    expect([device().powerLimitW(), device().computeMode(), device().persistence()]).toEqual([
      250.5,
      'prohibited',
      true,
    ])
    control.applySync({ kind: 'power-limit', powerLimitW: 350 })
    control.applySync({ kind: 'compute-mode', mode: 'default' })
    control.applySync({ kind: 'persistence', enabled: false })
    expect([device().powerLimitW(), device().computeMode(), device().persistence()]).toEqual([350, 'default', false])
  })

  it('tells its failures apart', async () => {
    const { uuid } = device()
    const tooMuch: BoardChange = { kind: 'power-limit', powerLimitW: 5000 }
    await expect(smiControl(uuid, { sudo: 'never' }).apply(tooMuch)).rejects.toMatchObject({
      code: 'NVML_INVALID_ARGUMENT',
      exitCode: 2,
      output: expect.stringContaining('between 100.00 W and 400.00 W'),
    })
    await expect(smiControl(uuid, { program: 'no-such-program', sudo: 'never' }).apply(tooMuch)).rejects.toMatchObject({
      code: 'SMI_NOT_FOUND',
    })
    await expect(smiControl('GPU-none', { sudo: 'never' }).apply(tooMuch)).rejects.toMatchObject({ code: 'SMI_FAILED' })
    const slow = smiControl(uuid, { sudo: 'never', timeoutMs: 1 })
    await expect(slow.apply(tooMuch)).rejects.toMatchObject({
      code: 'SMI_FAILED',
      message: expect.stringContaining('no answer in time'),
    })
  })

  describe('the sudoers drop-in', () => {
    const dropIn = (style: 'enumerated' | 'regex') =>
      sudoersDropIn({
        grantee: '%gpu',
        smiPath: '/usr/bin/nvidia-smi',
        style,
        boards: loadNvml({ libraryPath: host.libraryPath }).devices().map(boardFacts),
      })
    const rules = (text: string) =>
      text
        .split('\n')
        .filter((line) => !line.startsWith('#'))
        .join('\n')

    it('lists every command that is used, and no pattern', () => {
      const text = rules(dropIn('enumerated'))
      const { uuid } = device()
      const used: BoardChange[] = [
        { kind: 'power-limit', powerLimitW: 250 },
        { kind: 'sm-clock', range: { minMhz: 1005, maxMhz: 1005 } },
        { kind: 'sm-clock', range: null },
        { kind: 'mem-clock', range: { minMhz: 9501, maxMhz: 9501 } },
        { kind: 'mem-clock', range: null },
        { kind: 'compute-mode', mode: 'exclusive-process' },
        { kind: 'persistence', enabled: true },
      ]
      for (const change of used) {
        expect(text).toContain(`/usr/bin/nvidia-smi ${smiArguments(uuid, change).join(' ').replaceAll(',', '\\,')}, \\`)
      }
      expect(text).not.toMatch(/[*?[\]!]|\bALL,/)
      expect(text).toMatch(/^Cmnd_Alias PCTODL_GPU = \\\n/)
      expect(text.trim().split('\n').at(-1)).toBe('%gpu ALL = (root) NOPASSWD: PCTODL_GPU')
      // 301 limits, 127 + 5 locks, 2 resets, 3 modes, 2 for persistence; of two boards.
      expect(text.match(/nvidia-smi -i GPU-/g)).toHaveLength(2 * (301 + 127 + 5 + 2 + 3 + 2))
    })

    it('binds its patterns at both ends, to one board each', () => {
      const text = rules(dropIn('regex'))
      const patterns = [...text.matchAll(/nvidia-smi \^(.+)\$/gm)].map(([, pattern]) => new RegExp(`^${pattern}$`))
      expect(patterns).toHaveLength(6)
      const matches = (words: string) => patterns.some((pattern) => pattern.test(words))
      expect(matches(`-i ${device().uuid} -pl 250`)).toBe(true)
      expect(matches(`-i ${device().uuid} -lgc 210,1005`)).toBe(true)
      expect(matches(`-i ${device().uuid} -pl 250 -r`)).toBe(false)
      expect(matches('-i GPU-another -pl 250')).toBe(false)
      expect(matches('-pl 250')).toBe(false)
    })

    it('takes no name or path that could say more', () => {
      const boards = [] as const
      for (const grantee of ['a b', 'a, ALL', '']) {
        expect(() => sudoersDropIn({ grantee, smiPath: '/usr/bin/nvidia-smi', style: 'regex', boards })).toThrow(
          /user or group/,
        )
      }
      for (const smiPath of ['nvidia-smi', '/usr/bin/nvidia-smi, /bin/sh', '/x *']) {
        expect(() => sudoersDropIn({ grantee: 'me', smiPath, style: 'regex', boards })).toThrow(/smiPath/)
      }
    })
  })
})
