import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listGpus, loadNvml, type Nvml, NvmlError, NvmlNotFoundError, openGpu } from '../src/index.js'
import { nvmlReturnCodes } from '../src/nvml/nvml-error.js'
import { eventually, missingCompiler, type RunningHost, startHost } from './simulated-host.js'

describe('a machine without NVML', () => {
  it('says what was tried and what to install', () => {
    const error = (() => {
      try {
        loadNvml({ libraryPath: '/nowhere/libnvidia-ml.so.1' })
      } catch (reason) {
        return reason as NvmlNotFoundError
      }
    })()
    expect(error).toBeInstanceOf(NvmlNotFoundError)
    expect(error?.code).toBe('NVML_NOT_FOUND')
    expect(error?.message).toMatch(/Tried: \/nowhere\/libnvidia-ml\.so\.1 \(.*(cannot open|No such)/)
    expect(error?.message).toMatch(/install.*driver.*--gpus all.*pctodl sim host/s)
  })

  it('has a name and a remedy for every return code, and for those of the future', () => {
    for (const code of nvmlReturnCodes) {
      expect(new NvmlError('nvmlInit_v2', code).message).toMatch(/^nvmlInit_v2: .+ \(NVML_ERROR_[A-Z_]+, \d+\); .+/)
    }
    expect(new NvmlError('nvmlInit_v2', 77, 'GPU 0')).toMatchObject({ code: 'NVML_UNKNOWN', nvmlCode: 77 })
    expect(new Set(nvmlReturnCodes.map((code) => new NvmlError('x', code).message)).size).toBe(nvmlReturnCodes.length)
  })
})

describe.skipIf(missingCompiler)(`boards through the real FFI${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: RunningHost
  let nvml: Nvml

  beforeAll(async () => {
    host = await startHost({ board: 'A100', gpus: 2, load: [{ model: 'resnet50', mpsPercent: 50, batchSize: 32 }] })
    nvml = loadNvml({ libraryPath: host.libraryPath })
  })
  afterAll(async () => {
    await host?.stop()
  })

  const smi = (fields: string, gpu = 0) =>
    execFileSync('nvidia-smi', ['-i', String(gpu), `--query-gpu=${fields}`, '--format=csv,noheader,nounits'], {
      env: { ...process.env, ...host.environment },
      encoding: 'utf8',
    })
      .trim()
      .split(', ')

  it('tells versions, and finds boards by index, UUID and bus id', () => {
    expect(nvml.driverVersion).toBe(smi('driver_version')[0])
    expect(nvml.nvmlVersion).toContain(nvml.driverVersion)
    expect(nvml.deviceCount).toBe(2)
    const second = nvml.device(1)
    expect(nvml.device(second.uuid).index).toBe(1)
    expect(nvml.device(second.pciBusId).index).toBe(1)
    expect(() => nvml.device(7)).toThrow(expect.objectContaining({ code: 'NVML_INVALID_ARGUMENT' }))
    expect(() => nvml.device('GPU-no-such')).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }))
    expect(loadNvml({ libraryPath: host.libraryPath })).toBe(nvml)
  })

  it('reads what nvidia-smi reads', () => {
    const device = nvml.device(0)
    const [name, uuid, bus, total, min, max, usual, limit, mode, persistence] = smi(
      'name,uuid,pci.bus_id,memory.total,power.min_limit,power.max_limit,power.default_limit,power.limit,compute_mode,persistence_mode',
    )
    expect([device.name, device.uuid, device.pciBusId]).toEqual([name, uuid, bus])
    expect(Math.round(device.memory().totalBytes / 1024 ** 2)).toBe(Number(total))
    const limits = device.powerLimits()
    expect([limits.minW, limits.maxW, limits.defaultW, device.powerLimitW()]).toEqual(
      [min, max, usual, limit].map(Number),
    )
    expect([device.computeMode(), device.persistence()]).toEqual([mode!.toLowerCase(), persistence === 'Enabled'])
    expect([device.architecture, device.computeCapability, device.smCount]).toEqual(['Ampere', '8.0', 108])
    expect(device.enforcedPowerLimitW()).toBe(device.powerLimitW())
    const [states] = device.supportedClocks().slice(-1)
    expect(states).toMatchObject({ memClockMhz: 1215 })
    expect(states!.smClocksMhz).toEqual([...states!.smClocksMhz].sort((a, b) => a - b))
    expect([states!.smClocksMhz[0], states!.smClocksMhz.at(-1)]).toEqual([210, 1410])
  })

  it('sees who works on a board, and that it is an MPS client', async () => {
    const [process] = nvml.device(0).computeProcesses()
    const [pid] = execFileSync('nvidia-smi', ['--query-compute-apps=pid', '--format=csv,noheader'], {
      env: { ...globalThis.process.env, ...host.environment },
      encoding: 'utf8',
    })
      .trim()
      .split('\n')
    expect(process).toMatchObject({ pid: Number(pid), isMpsClient: true, gpuInstanceId: null, computeInstanceId: null })
    expect(process!.usedBytes).toBeGreaterThan(2 ** 28)
    expect(nvml.device(1).computeProcesses()).toEqual([])
  })

  it('tells MIG mode on a board that has it, without instances while it is off', () => {
    expect(nvml.device(0).mig()).toEqual({ enabled: false, pendingEnabled: false, instances: [] })
  })

  it('samples every field, and energy that power accounts for', async () => {
    const gpu = await openGpu(0, { libraryPath: host.libraryPath, leaseFolder: host.leaseFolder })
    await eventually(async () => ((await gpu.sample()).smUtilPercent ?? 0) > 0, 'the load works')
    const first = await gpu.sample()
    expect(Object.values(first)).not.toContain(null)
    expect(gpu.failedReads().size).toBe(0)
    expect(first.powerInstantW).toBeGreaterThan(40)
    expect(first.memoryUsedBytes).toBeGreaterThan(2 ** 29)
    const second = await gpu.sample()
    expect(second.timeMs).toBeGreaterThan(first.timeMs)
    expect(second.energyJ).toBeGreaterThanOrEqual(first.energyJ!)
    expect(await gpu.info()).toMatchObject({ index: 0, driverVersion: nvml.driverVersion, powerLimitW: 250 })
    expect(gpu.spec).toMatchObject({ key: 'A100', smCount: 108 })
  })

  it('lists boards', () => {
    expect(listGpus({ libraryPath: host.libraryPath })).toMatchObject([{ index: 0 }, { index: 1 }])
  })
})

describe.skipIf(missingCompiler)(`boards in trouble${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  it('are refused to who may not, and reported when lost', async () => {
    const host = await startHost({ privilege: 'nobody' })
    try {
      const options = {
        libraryPath: host.libraryPath,
        leaseFolder: host.leaseFolder,
        control: { path: 'nvml' },
      } as const
      const gpu = await openGpu(0, options)
      const lease = await gpu.acquire()
      await expect(lease.setPowerLimit(300)).rejects.toMatchObject({ code: 'NO_PERMISSION', message: /pctodld/ })
      await lease.release()
      await host.strike({ kind: 'gpu-lost', atMs: 0 })
      await eventually(
        () =>
          gpu.sample().then(
            () => false,
            (error) => error.code === 'GPU_LOST',
          ),
        'the board is lost',
      )
      expect(listGpus(options)).toMatchObject([{ index: 0, error: { code: 'GPU_LOST' } }])
    } finally {
      await host.stop()
    }
  })
})
