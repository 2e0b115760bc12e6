import { findGpuSpec } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { prometheusText } from '../src/commands/prometheus.js'
import { type BoardStatus, statusText } from '../src/commands/status.js'
import { generationOf, smCountOf } from '../src/nvml/generations.js'

const GIB = 1024 ** 3
const busy: BoardStatus = {
  index: 3,
  name: 'NVIDIA "A100"',
  uuid: 'GPU-1',
  telemetry: {
    timeMs: 0,
    powerAverageW: 251.5,
    powerInstantW: 260.25,
    energyJ: 12.3456,
    smClockMhz: 1410,
    memClockMhz: 1215,
    smUtilPercent: 98,
    memUtilPercent: 41,
    temperatureC: 61,
    memoryUsedBytes: 10 * GIB,
    clocksEventReasons: [],
  },
  eventReasons: ['sw-power-cap', 'hw-slowdown'],
  powerLimitW: 400,
  enforcedPowerLimitW: 380,
  defaultPowerLimitW: 400,
  memoryBytes: 40 * GIB,
  computeMode: 'exclusive-process',
  persistence: true,
  processes: [
    { pid: 7, usedBytes: 2 * GIB, isMpsClient: true, gpuInstanceId: null, computeInstanceId: null, command: 'serve' },
    { pid: 8, usedBytes: null, isMpsClient: false, gpuInstanceId: null, computeInstanceId: null, command: null },
  ],
  leased: true,
  leasedBy: 42,
}
const { telemetry } = busy
const silent: BoardStatus = {
  ...busy,
  index: 0,
  uuid: 'GPU-0',
  telemetry: {
    ...telemetry,
    powerAverageW: null,
    powerInstantW: null,
    energyJ: null,
    smClockMhz: null,
    memClockMhz: null,
    smUtilPercent: null,
    memUtilPercent: null,
    temperatureC: null,
    memoryUsedBytes: null,
  },
  eventReasons: null,
  powerLimitW: null,
  enforcedPowerLimitW: null,
  computeMode: null,
  persistence: null,
  processes: [],
  leased: null,
  leasedBy: null,
}

/** The rows of a status by their first words. */
const rows = (board: BoardStatus) =>
  Object.fromEntries(
    statusText(board)
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split(/ {2,}/, 2)),
  )

describe('the status of a board', () => {
  it('says what was read, with its unit', () => {
    expect(statusText(busy).split('\n')[0]).toBe('GPU 3: NVIDIA "A100" (GPU-1)')
    expect(rows(busy)).toEqual({
      power: '251.5 W average, 260.3 W instant, limit 400 W',
      clocks: 'SM 1410 MHz, memory 1215 MHz',
      'clock events': 'sw-power-cap, hw-slowdown',
      utilisation: 'SM 98 %, memory 41 %',
      memory: '10.0 GiB of 40.0 GiB',
      temperature: '61 C',
      energy: '12.3 J',
      'compute mode': 'exclusive-process',
      persistence: 'on',
      lease: 'process 42',
      'process 7': '2.0 GiB, MPS, serve',
      'process 8': '-',
    })
  })

  it('says - for what is not known, which is neither nothing nor off', () => {
    expect(rows(silent)).toEqual({
      power: '- average, - instant, limit -',
      clocks: 'SM -, memory -',
      'clock events': '-',
      utilisation: 'SM -, memory -',
      memory: '- of 40.0 GiB',
      temperature: '-',
      energy: '-',
      'compute mode': '-',
      persistence: '-',
      lease: 'not visible to this user',
    })
    expect(rows({ ...busy, persistence: false, leased: false, leasedBy: null, eventReasons: [] })).toMatchObject({
      persistence: 'off',
      lease: 'free',
      'clock events': '-',
    })
    expect(rows({ ...busy, leasedBy: null })).toMatchObject({ lease: 'process (not visible from here)' })
  })
})

describe('metrics', () => {
  const metric = (text: string, name: string, gpu: number) =>
    new RegExp(`^${name}\\{gpu="${gpu}",.*\\} (.*)$`, 'm').exec(text)?.[1]

  it('have the units of dcgm-exporter', () => {
    const text = prometheusText([busy])
    const told = (name: string) => Number(metric(text, name, 3))
    expect(told('DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION')).toBe(12_346)
    expect([told('DCGM_FI_DEV_FB_USED'), told('DCGM_FI_DEV_FB_FREE')]).toEqual([10_240, 30_720])
    expect(told('DCGM_FI_DEV_CLOCK_THROTTLE_REASONS')).toBe(0x4 | 0x8)
    expect([told('pctodl_compute_processes'), told('pctodl_mps_clients'), told('pctodl_leased')]).toEqual([2, 1, 1])
    expect(metric(prometheusText([{ ...busy, leased: false }]), 'pctodl_leased', 3)).toBe('0')
    expect(text).toMatch(/modelName="NVIDIA \\"A100\\""/)
  })

  it('leave out what is not known, on this board alone', () => {
    const text = prometheusText([busy, silent], ['5'])
    expect(text.match(/^\w+\{gpu="0",.*$/gm)?.map((line) => /^\w+/.exec(line)![0])).toEqual([
      'pctodl_board_readable',
      'pctodl_compute_processes',
      'pctodl_mps_clients',
    ])
    expect(['0', '3', '5'].map((gpu) => metric(text, 'pctodl_board_readable', Number(gpu)))).toEqual(['1', '1', '0'])
    const hidden = { ...busy, processes: [...busy.processes, { ...busy.processes[0]!, isMpsClient: null }] }
    expect(metric(prometheusText([hidden]), 'pctodl_mps_clients', 3)).toBeUndefined()
    expect(prometheusText([silent])).not.toMatch(/DCGM_FI_DEV_POWER_USAGE/)
  })
})

describe('what a generation implies', () => {
  it.each(['3080Ti', 'A100', 'V100', 'H100'])('is what the release knows of the %s', (key) => {
    const known = findGpuSpec(key)
    expect(generationOf(known.computeCapability, known.name.includes('GeForce'))).toMatchObject({
      tensorFlopPerClockPerSm: known.tensorFlopPerClockPerSm,
      tf32FlopPerClockPerSm: known.tf32FlopPerClockPerSm,
      fp32FlopPerClockPerSm: known.fp32FlopPerClockPerSm,
    })
  })

  it.each(['7.0', '7.5', '8.0', '8.6', '8.9', '9.0'])(
    '%s: an FP32 unit does a multiply-add per clock',
    (capability) => {
      const units = generationOf(capability, false)!.fp32FlopPerClockPerSm / 2
      for (const count of [1, 2, 108]) expect(smCountOf(count * units, capability)).toBe(count)
      for (const cores of [units - 1, units + 1, 0, -units]) expect(smCountOf(cores, capability)).toBeNull()
      expect(smCountOf(units, '6.1')).toBeNull()
    },
  )
})
