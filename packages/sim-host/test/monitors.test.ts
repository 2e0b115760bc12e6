import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pythonWith } from '../../../test/python-environment.js'
import type { SimulatedHost } from '../src/simulated-host.js'
import {
  type BuiltPrograms,
  buildPrograms,
  eventually,
  missingCompiler,
  outcome,
  run,
  startHost,
} from './built-host.js'

const require = createRequire(import.meta.url)
const python = missingCompiler
  ? undefined
  : pythonWith(['nvidia-ml-py==13.615.71', 'gpustat==1.1.1'], ['pynvml', 'gpustat'])

describe.skipIf(missingCompiler)(
  `programs that nobody here wrote${missingCompiler ? ` (${missingCompiler})` : python ? '' : ' (needs nvidia-ml-py in Python)'}`,
  () => {
    let host: SimulatedHost
    let built: BuiltPrograms
    let env: NodeJS.ProcessEnv
    const name = 'NVIDIA GeForce RTX 3080 Ti'

    beforeAll(async () => {
      built = await buildPrograms()
      const load = [50, 50].map((mpsPercent) => ({ model: 'resnet50', mpsPercent, batchSize: 32 }))
      ;({ host, env } = await startHost(built.programs, { gpus: 2, load, privilege: 'everyone' }))
      const [gpu] = host.gpus
      await eventually(async () => ((await gpu!.sample()).powerAverageW ?? 0) > 200, 'the load draws more than 200 W')
    })
    afterAll(() => {
      host?.close()
      built?.remove()
    })

    const withPython = it.skipIf(!python)

    withPython(`nvidia-ml-py reads and changes the board`, async () => {
      const script = `
import json, time
from pynvml import *
nvmlInit()
board = nvmlDeviceGetHandleByIndex(0)
power = nvmlDeviceGetPowerUsage(board)
instant = nvmlDeviceGetFieldValues(board, [NVML_FI_DEV_POWER_INSTANT])[0]
memory = nvmlDeviceGetMemoryInfo(board, version=nvmlMemory_v2)
nvmlDeviceSetGpuLockedClocks(board, 600, 600)
deadline = time.time() + 10
while nvmlDeviceGetClockInfo(board, NVML_CLOCK_SM) != 600 and time.time() < deadline: time.sleep(0.05)
try:
    nvmlDeviceSetPowerManagementLimit(board, 1000000)
    refused = None
except NVMLError as error:
    refused = error.value
print(json.dumps(dict(
    count=nvmlDeviceGetCount(), name=nvmlDeviceGetName(board), power=power, instant=instant.value.uiVal,
    total=memory.total, processes=len(nvmlDeviceGetComputeRunningProcesses(board)),
    mps=len(nvmlDeviceGetMPSComputeRunningProcesses(board)),
    util=nvmlDeviceGetUtilizationRates(board).gpu, sm=nvmlDeviceGetClockInfo(board, NVML_CLOCK_SM),
    clocks=len(nvmlDeviceGetSupportedGraphicsClocks(board, 9501)), refused=refused,
    energy=nvmlDeviceGetTotalEnergyConsumption(board), reasons=nvmlDeviceGetCurrentClocksEventReasons(board),
)))
nvmlDeviceResetGpuLockedClocks(board)
nvmlShutdown()
`
      const { stdout, stderr } = await outcome(python!, ['-c', script], env)
      expect(stderr).toBe('')
      const seen = JSON.parse(stdout)
      expect(seen).toMatchObject({
        count: 2,
        name,
        total: 12 * 1024 ** 3,
        processes: 2,
        mps: 2,
        sm: 600,
        clocks: 127,
        refused: 2,
      })
      expect(seen.power).toBeGreaterThan(200_000)
      expect(seen.instant).toBeGreaterThan(150_000)
      expect(seen.util).toBeGreaterThan(20)
      expect(seen.energy).toBeGreaterThan(0)
    })

    withPython(`nvidia-ml-py lays out structures as the library does`, async () => {
      const header = readFileSync(new URL('../native/nvml_abi.h', import.meta.url), 'utf8')
      const sizes = Object.fromEntries(
        [...header.matchAll(/ASSERT_SIZE\((\w+), (\d+)\)/g)].map(([, type, size]) => [type, Number(size)]),
      )
      const script = `
import ctypes, json, pynvml, sys
known = {}
for type in json.loads(sys.argv[1]):
    found = next((getattr(pynvml, n) for n in (type, 'c_' + type, type.replace('_v1_t', '_t'), 'c_' + type.replace('Info_v1_t', 'Info_v1_t')) if hasattr(pynvml, n)), None)
    if found is not None and type not in ('nvmlPciInfo_v1_t', 'nvmlProcessInfo_v1_t'): known[type] = ctypes.sizeof(found)
print(json.dumps(known))
`
      const { stdout } = await run(python!, ['-c', script, JSON.stringify(Object.keys(sizes))])
      const known = JSON.parse(stdout) as Record<string, number>
      expect(Object.keys(known).length).toBeGreaterThan(15)
      for (const [type, size] of Object.entries(known)) expect([type, sizes[type]]).toEqual([type, size])
    })

    withPython(`gpustat shows boards, load and processes`, async () => {
      const { stdout } = await run(python!, ['-m', 'gpustat', '--json'], { env })
      const { driver_version, gpus } = JSON.parse(stdout)
      expect(driver_version).toBe('550.144.03')
      expect(gpus).toHaveLength(2)
      expect(gpus[0]).toMatchObject({ index: 0, name, 'enforced.power.limit': 350, 'memory.total': 12288 })
      expect(gpus[0].processes.map((process: { command: string }) => process.command)).toEqual([
        'simulated-resnet50',
        'simulated-resnet50',
      ])
      expect(gpus[1].processes).toEqual([])
    })

    it('systeminformation finds the boards and their readings', async () => {
      const script = `require(${JSON.stringify(require.resolve('systeminformation'))}).graphics().then((found) => console.log(JSON.stringify(found)))`
      const { stdout } = await run(process.execPath, ['-e', script], { env })
      const { controllers } = JSON.parse(stdout)
      const simulated = controllers.filter((controller: { name?: string }) => controller.name === name)
      expect(simulated).toHaveLength(2)
      expect(simulated[0]).toMatchObject({
        vendor: 'NVIDIA Corporation',
        memoryTotal: 12288,
        powerLimit: 350,
        driverVersion: '550.144.03',
      })
      expect(simulated[0].powerDraw).toBeGreaterThan(simulated[1].powerDraw)
    })

    it('node-nvidia-smi parses the XML report', async () => {
      const file = join(host.folder, 'report.cjs')
      writeFileSync(
        file,
        `require(${JSON.stringify(require.resolve('node-nvidia-smi'))})((error, report) => { if (error) throw error; console.log(JSON.stringify(report)) })`,
      )
      const { stdout } = await run(process.execPath, [file], { env })
      const { attached_gpus, gpu } = JSON.parse(stdout).nvidia_smi_log
      expect(attached_gpus).toBe('2')
      expect(gpu[0]).toMatchObject({ product_name: name, gpu_power_readings: { default_power_limit: '350.00 W' } })
      expect(gpu[0].processes.process_info).toHaveLength(2)
      expect(gpu[0].supported_clocks.supported_mem_clock[0].value).toBe('9501 MHz')
    })
  },
)
