import { describe, expect, it } from 'vitest'
import {
  aggregateLaunches,
  parseMemoryLog,
  parseNsightComputeCsv,
  parseProcessMonitorLog,
  TableError,
} from '../src/index.js'

const columns = ['ID', 'Kernel Name', 'Section Name', 'Metric Name', 'Metric Unit', 'Metric Value', 'Body Item Label']
const header = columns.map((name) => `"${name}"`).join(',')
const light = 'GPU Speed Of Light Throughput'

interface LaunchText {
  readonly duration?: readonly [unit: string, value: string]
  readonly sharedMemory?: readonly [unit: string, value: string]
  readonly threads?: string
}

function launch(
  id: number,
  { duration = ['nsecond', '2,000'], sharedMemory = ['byte/block', '48'], threads = '1,024' }: LaunchText = {},
) {
  const rows: (readonly string[])[] = [
    [light, 'DRAM Frequency', 'cycle/nsecond', '0.87', ''],
    [light, 'Memory Throughput', '%', '60', 'L1: Data Bank Reads'],
    [light, 'Memory Throughput', '%', '40', ''],
    [light, 'Compute (SM) Throughput', '%', '50', ''],
    [light, 'DRAM Throughput', '%', '30', ''],
    [light, 'Duration', ...duration, ''],
    ['Memory Workload Analysis', 'Memory Throughput', 'byte/second', '3,000,000', ''],
    ['Launch Statistics', 'Grid Size', '', '8', ''],
    ['Launch Statistics', 'Registers Per Thread', 'register/thread', '32', ''],
    ['Launch Statistics', 'Static Shared Memory Per Block', ...sharedMemory, ''],
    ['Launch Statistics', 'Threads', 'thread', threads, ''],
  ]
  return rows.map((row) => [String(id), `kernel<${id}>`, ...row].map((cell) => `"${cell}"`).join(',')).join('\n')
}

describe('the report of Nsight Compute', () => {
  it('gives one record per launch, without breakdown rows and the throughput of another section', () => {
    const text = ['==PROF== Connected to process 7', header, launch(0), launch(1, { threads: '512' })].join('\n')
    const launches = parseNsightComputeCsv(text)
    expect(launches).toHaveLength(2)
    expect(launches[0]).toEqual({
      kernel: 'kernel<0>',
      durationNs: 2000,
      gridSize: 8,
      threads: 1024,
      smThroughputPercent: 50,
      dramThroughputPercent: 30,
      memoryThroughputPercent: 40,
      registersPerThread: 32,
      staticSharedMemoryPerBlockBytes: 48,
    })
    expect(launches[1]!.threads).toBe(512)
  })

  it('brings scaled units together', () => {
    const text = [
      header,
      launch(0, { duration: ['usecond', '1.5'], sharedMemory: ['Kbyte/block', '1.02'] }),
      launch(1, { duration: ['ms', '2'] }),
    ].join('\n')
    const [first, second] = parseNsightComputeCsv(text)
    expect(first).toMatchObject({ durationNs: 1500, staticSharedMemoryPerBlockBytes: 1020 })
    expect(second!.durationNs).toBe(2e6)
  })

  it('passes over the table of devices inside the body', () => {
    const devices = ['"GPU ID","Name","Clock"', '"0","V100","1380"', '"1","V100","1380"'].join('\n')
    expect(parseNsightComputeCsv([header, launch(0), devices, launch(1)].join('\n'))).toHaveLength(2)
  })

  it('refuses what is missing or not understood, with its place', () => {
    const whole = [header, launch(0)].join('\n')
    expect(() => parseNsightComputeCsv('')).toThrow('empty')
    expect(() => parseNsightComputeCsv(header)).toThrow('no kernel launches')
    expect(() => parseNsightComputeCsv('"ID', 'report.csv')).toThrow(TableError)
    expect(() => parseNsightComputeCsv(whole.replace('"Metric Unit"', '"Unit"'))).toThrow(
      "column 'Metric Unit': missing",
    )
    expect(() => parseNsightComputeCsv(whole.replace('Threads', 'Strands'))).toThrow(
      "column 'Threads': missing for launch 0",
    )
    expect(() => parseNsightComputeCsv(whole.replace('nsecond","2,000', 'fortnight","2'))).toThrow("unit 'fortnight'")
    expect(() => parseNsightComputeCsv(whole.replace('"1,024"', '"n/a"'))).toThrow(
      "line 12, column 'Threads': got 'n/a'",
    )
    expect(() => parseNsightComputeCsv(`${whole}\n"1","x"`)).toThrow('line 13: 2 cells, expected 7')
  })

  it('is averaged by duration', () => {
    const text = [
      header,
      launch(0, { duration: ['ns', '3000'] }),
      launch(1, { duration: ['ns', '1000'], threads: '2048' }),
    ].join('\n')
    expect(aggregateLaunches(parseNsightComputeCsv(text))).toEqual({
      threads: (3 * 1024 + 2048) / 4,
      smThroughputPercent: 50,
      dramThroughputPercent: 30,
      memoryThroughputPercent: 40,
      registers: (32 * (3 * 1024 + 2048)) / 4,
      staticSharedMemory: 8 * 48,
    })
    expect(() => aggregateLaunches([])).toThrow('above 0 ns')
  })
})

describe('the logs of nvidia-smi', () => {
  const sample = (sm: string, mem: string) => `    0      4242     C     ${sm}     ${mem}      -      -    python`
  const pmon = (samples: readonly string[]) =>
    [
      '# gpu        pid  type    sm   mem   enc   dec   command',
      '# Idx          #   C/G     %     %     %     %   name',
      ...samples,
    ].join('\n')

  it('are averaged after ten samples, without those that show no number', () => {
    const warmUp = Array.from({ length: 10 }, () => sample('1', '1'))
    const text = pmon([...warmUp, sample('90', '40'), sample('-', '-'), sample('80', '20')])
    expect(parseProcessMonitorLog(text)).toEqual({ smUtilPercent: 85, memUtilPercent: 30 })
  })

  it('are refused where nothing is left', () => {
    expect(() => parseProcessMonitorLog(pmon([sample('90', '40')]))).toThrow("column 'sm': no number after 10 samples")
    expect(() => parseProcessMonitorLog('0 1 C 90 40')).toThrow('no header')
  })

  it('give the most memory in GiB to a tenth', () => {
    expect(parseMemoryLog('memory.used [MiB]\n1024 MiB\n1690 MiB\n1500 MiB\n')).toBe(1.7)
    expect(parseMemoryLog('1024\n')).toBe(1)
    expect(parseMemoryLog('0 MiB\n0 MiB\n')).toBe(0)
    expect(() => parseMemoryLog('1024\n[N/A]\n')).toThrow("line 2, column 'memory.used': got '[N/A]'")
    expect(() => parseMemoryLog('')).toThrow('no sample')
  })
})
