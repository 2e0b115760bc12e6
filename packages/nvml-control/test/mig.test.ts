import { execFileSync, spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadNvml, type NvmlDevice, openGpu, withLease } from '../src/index.js'
import { eventually, missingCompiler, type RunningHost, simulator, startHost } from './simulated-host.js'

describe.skipIf(missingCompiler)(`a board that is divided${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: RunningHost
  let device: NvmlDevice

  beforeAll(async () => {
    host = await startHost({ board: 'A100' })
    device = loadNvml({ libraryPath: host.libraryPath }).deviceByIndex(0)
  })
  afterAll(async () => {
    await host?.stop()
  })

  const environment = () => ({ ...process.env, ...host.environment })
  const smi = (...args: string[]) => execFileSync('nvidia-smi', args, { env: environment(), encoding: 'utf8' })

  it('is seen as it is divided and made whole again', async () => {
    expect(device.mig()).toEqual({ enabled: false, pendingEnabled: false, instances: [] })
    smi('-mig', '1')
    expect(device.mig()).toEqual({ enabled: true, pendingEnabled: true, instances: [] })
    smi('mig', '-cgi', '4g.20gb,2g.10gb', '-C')
    const { instances } = device.mig()!
    expect(instances).toEqual([
      {
        uuid: expect.stringMatching(/^MIG-[\da-f-]{36}$/),
        name: 'NVIDIA A100-PCIE-40GB MIG 4g.20gb',
        gpuInstanceId: 1,
        computeInstanceId: 0,
        smCount: 56,
        memoryBytes: 20 * 1024 ** 3,
        gpuInstanceSlices: 4,
        computeInstanceSlices: 4,
      },
      expect.objectContaining({ gpuInstanceId: 5, smCount: 28, gpuInstanceSlices: 2 }),
    ])
    // The tool lists the same instances under the same names.
    const listed = [...smi('-L').matchAll(/\(UUID: (MIG-[^)]+)\)/g)].map(([, uuid]) => uuid)
    expect(instances.map(({ uuid }) => uuid)).toEqual(listed)

    smi('mig', '-dci')
    smi('mig', '-dgi', '-gi', '5')
    expect(device.mig()?.instances).toEqual([])
    smi('mig', '-dgi')
    smi('-mig', '0')
    expect(device.mig()).toEqual({ enabled: false, pendingEnabled: false, instances: [] })
  })

  it('tells in which instance a process works, and what cannot be read of a divided board', async () => {
    smi('-mig', '1')
    smi('mig', '-cgi', '3g.20gb,3g.20gb', '-C')
    const [, second] = device.mig()!.instances
    const worker = spawn(process.execPath, [simulator, 'tenant', '--network', 'mobilenet_v2', '--batch', '8'], {
      env: { ...environment(), CUDA_VISIBLE_DEVICES: second!.uuid },
      stdio: 'ignore',
    })
    try {
      await eventually(() => device.computeProcesses().length > 0, 'the process has a context')
      const { gpuInstanceId, computeInstanceId } = second!
      expect(device.computeProcesses()).toEqual([
        expect.objectContaining({ pid: worker.pid, gpuInstanceId, computeInstanceId }),
      ])
      const gpu = await openGpu(0, { libraryPath: host.libraryPath, leaseFolder: host.leaseFolder })
      const sample = await gpu.sample()
      // Utilisation is no quantity of a divided board: null, with the reason, and not 0.
      expect([sample.smUtilPercent, sample.memUtilPercent]).toEqual([null, null])
      expect(gpu.failedReads().get('nvmlDeviceGetUtilizationRates')).toMatchObject({ code: 'NOT_SUPPORTED' })
      // An idle A100 draws some 30 W; what is read may lie a few per cent beside.
      expect(sample.powerAverageW).toBeGreaterThan(20)
    } finally {
      const ended = new Promise((resolve) => worker.once('exit', resolve))
      worker.kill('SIGTERM')
      await ended
    }
  })

  it('stays divided while a lease changes and restores it', async () => {
    const before = device.mig()
    expect(before?.instances).toHaveLength(2)
    const gpu = await openGpu(0, { libraryPath: host.libraryPath, leaseFolder: host.leaseFolder })
    await withLease(gpu, async (lease) => {
      await lease.setPowerLimit(200)
      expect(device.powerLimitW()).toBe(200)
    })
    expect(device.powerLimitW()).toBe(250)
    expect(device.mig()).toEqual(before)
  })
})
