import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { boardFacts } from '../src/describe/board-facts.js'
import { loadNvml, type Nvml, NvmlError, type NvmlGpu, openGpu } from '../src/index.js'
import { type NvmlCallName, nvmlCallNames } from '../src/nvml/nvml-calls.js'
import { nvmlReturnCodes } from '../src/nvml/nvml-error.js'
import { buildFaultyNvml, type FaultyNvml } from './faulty-nvml.js'
import { missingCompiler, type RunningHost, startHost } from './simulated-host.js'

/** What a sample reads: a failure there is a null and a reason, see below. */
const sampled: readonly NvmlCallName[] = [
  'nvmlDeviceGetPowerUsage',
  'nvmlDeviceGetFieldValues',
  'nvmlDeviceGetTotalEnergyConsumption',
  'nvmlDeviceGetClockInfo',
  'nvmlDeviceGetUtilizationRates',
  'nvmlDeviceGetTemperature',
  'nvmlDeviceGetMemoryInfo',
]

/** Calls that only a sample makes. */
const onlySampled = [
  'nvmlDeviceGetPowerUsage',
  'nvmlDeviceGetFieldValues',
  'nvmlDeviceGetUtilizationRates',
  'nvmlDeviceGetTemperature',
]

/** Every other call that asks something. */
const asked = nvmlCallNames.filter((name) => /^nvml(System|Device)Get/.test(name) && !onlySampled.includes(name))

const GPU_IS_LOST = 15
const WHOLE = 1

/** Codes for which some reads are allowed to answer "there is none": absent features, and empty places of MIG. */
const meansNone = [2, 3, 6, 13, 21, 22, 25, 26]

describe.skipIf(missingCompiler)(`every error of every read${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: RunningHost
  let faulty: FaultyNvml
  let nvml: Nvml
  let gpu: NvmlGpu

  beforeAll(async () => {
    host = await startHost({ board: 'A100', gpus: 2 })
    faulty = buildFaultyNvml(host.libraryPath)
    // Board 0 is divided, so that every read of MIG has something to tell; a whole one has every field of a sample.
    const smi = (...args: string[]) =>
      execFileSync('nvidia-smi', args, { env: { ...process.env, ...host.environment } })
    smi('-i', '0', '-mig', '1')
    smi('mig', '-i', '0', '-cgi', '3g.20gb', '-C')
    gpu = await openGpu(WHOLE, { libraryPath: faulty.libraryPath, leaseFolder: host.leaseFolder })
    nvml = gpu.nvml
  })
  afterEach(() => [0, WHOLE].forEach((board) => void faulty.clear(board)))
  afterAll(async () => {
    faulty?.remove()
    await host?.stop()
  })

  it.each(asked)('%s: a typed error with a remedy', (name) => {
    const messages = new Set<string>()
    for (const code of nvmlReturnCodes) {
      faulty.answer(name, code)
      // The former name is asked only where the driver does not know the new one.
      if (name === 'nvmlDeviceGetCurrentClocksThrottleReasons') {
        faulty.answer('nvmlDeviceGetCurrentClocksEventReasons', 13)
      }
      const outcome = readEverything(nvml)
      faulty.clear()
      if (outcome === undefined) {
        expect(meansNone, `${name} ${code}`).toContain(code)
        continue
      }
      expect(outcome, `${name} ${code}`).toBeInstanceOf(NvmlError)
      expect(outcome).toMatchObject({ nvmlCode: code, call: name })
      messages.add((outcome as NvmlError).message)
    }
    for (const message of messages) expect(message).toMatch(/^nvml\w+( for .+)?: .+ \(NVML_ERROR_\w+, \d+\); [`\w]+/)
    // Without this, a call that nobody makes would pass.
    expect([...messages].join('\n')).toContain(`NVML_ERROR_GPU_IS_LOST, ${GPU_IS_LOST}`)
    expect(readEverything(nvml)).toBeUndefined()
  })

  it('nvmlInit_v2: a typed error with a remedy, and the next attempt is a new one', () => {
    const other = path.join(path.dirname(faulty.libraryPath), 'other.so')
    symlinkSync(faulty.libraryPath, other)
    for (const code of nvmlReturnCodes) {
      faulty.answer('nvmlInit_v2', code)
      expect(() => loadNvml({ libraryPath: other })).toThrow(
        expect.objectContaining({ nvmlCode: code, call: 'nvmlInit_v2' }),
      )
    }
    faulty.clear()
    expect(loadNvml({ libraryPath: other }).deviceCount).toBe(2)
  })

  it.each(sampled)('%s: a null and its reason in a sample, or the end of it where the board is gone', async (name) => {
    const gone = [1, 9, 15, 16, 18]
    for (const code of nvmlReturnCodes) {
      faulty.answer(name, code, { board: WHOLE })
      const sample = await gpu.sample().catch((error: unknown) => error)
      faulty.clear(WHOLE)
      if (gone.includes(code)) expect(sample, `${code}`).toMatchObject({ nvmlCode: code, call: name })
      else {
        expect(Object.values(sample as object), `${code}`).toContain(null)
        expect(gpu.failedReads().get(name), `${code}`).toMatchObject({ nvmlCode: code })
      }
    }
    expect(Object.values(await gpu.sample())).not.toContain(null)
    expect(gpu.failedReads().size).toBe(0)
  })
})

/** Every read of a library and of its divided board, until the first that fails. */
function readEverything(nvml: Nvml): unknown {
  try {
    expect([nvml.driverVersion, nvml.nvmlVersion]).not.toContain('')
    const device = nvml.deviceByIndex(0)
    nvml.device(device.uuid)
    nvml.device(device.pciBusId)
    expect(nvml.deviceCount).toBe(2)
    boardFacts(device)
    device.powerLimitW()
    device.enforcedPowerLimitW()
    device.energyJ()
    device.smClockMhz()
    device.memClockMhz()
    device.eventReasons()
    device.computeProcesses()
    device.computeMode()
    device.persistence()
    device.mig()
    return undefined
  } catch (error) {
    return error
  }
}
