import { networkName, UnknownNameError } from '@pctodl/platform'
import { goldenJson } from '@pctodl/reference-data'
import { BatchLatencies } from '@pctodl/report'
import { serverPolicyNames } from '@pctodl/run/policy'
import { describe, expect, it } from 'vitest'
import { algorithmGroups, algorithmNames, parseAlgorithms } from '../src/algorithms.js'
import { cellStem, cellsOf } from '../src/cell.js'
import { latencyObjectives, soloLatencyMs } from '../src/demands.js'
import { benchTasks, boardName, capsOf, everyTask, taskFileStem, tasksOf } from '../src/tasks.js'

const onePerBoard = {
  backend: 'sim',
  isReal: false,
  worker: 'torch',
  algorithm: 'all',
  seed: 1,
  seeds: 1,
  iterations: 5,
  powerMargin: 0,
  executor: 'local',
  slurmElements: 1,
  resultDir: '.',
  jobs: 1,
} as const

describe('the task matrix', () => {
  it('has 30 ids, 16 tasks a board, and networks that exist', () => {
    expect(new Set(benchTasks.map((task) => task.id)).size).toBe(30)
    expect(tasksOf('3080Ti')).toHaveLength(16)
    expect(tasksOf('A100')).toHaveLength(16)
    for (const task of benchTasks) expect(() => networkName(task.model)).not.toThrow()
  })

  it('is the published one', () => {
    const { tasks } = goldenJson('pctodl/task_matrix.json')
    expect(tasks).toHaveLength(30)
    for (const published of tasks) {
      for (const board of published.gpus) {
        const [task] = tasksOf(board, [published.id])
        expect(task).toMatchObject({
          model: published.model,
          dataset: published.dataset,
          powerCapW: published.powerCapW,
          schedule: published.schedule,
        })
        expect(taskFileStem(task!).endsWith(`_${published.csvSuffix}`)).toBe(true)
      }
    }
  })

  it('keeps the order asked for', () => {
    expect(tasksOf('A100', [29, 20, 15]).map((task) => task.id)).toEqual([29, 20, 15])
  })

  it('names what a board has when asked for what it has not', () => {
    expect(() => tasksOf('A100', [1])).toThrow(/unknown task id on A100 '1'; known: 15, 16, 17/)
    expect(() => tasksOf('H100')).toThrow(UnknownNameError)
  })

  it('turns a schedule into caps by time stamp', () => {
    const [down] = tasksOf('3080Ti', [29])
    expect(capsOf(down!)).toEqual([
      { atMs: 0, powerCapW: 200 },
      { atMs: 250_000, powerCapW: 160 },
      { atMs: 500_000, powerCapW: 120 },
    ])
    expect(taskFileStem(down!)).toBe('29_resnet50_imagenet_power_down')
    expect(taskFileStem(tasksOf('3080Ti', [4])[0]!)).toBe('4_maxvit_imagenet_170W')
  })
})

describe('a list of algorithms', () => {
  it('is one name, several, or a group', () => {
    // Who knows the truth is run only where it is named.
    const every = new Set<string>([...algorithmNames, ...serverPolicyNames])
    every.delete('static-best')
    expect(new Set<string>(parseAlgorithms('all'))).toEqual(every)
    expect(parseAlgorithms('tuned')).toEqual([
      'pctodl',
      'plan-limit-step',
      'plan-limit',
      'equal-split-step',
      'equal-split',
      'measured-60s',
      'plan-fixed-clock',
      'fixed-clock',
      'equal-shares',
      'morak-tuned',
      'batchdvfs-tuned',
      'powercap-tuned',
      'latency-governor',
    ])
    expect(parseAlgorithms('morak,tuned')).toEqual(['morak', ...algorithmGroups.tuned])
    expect(parseAlgorithms('powercap, pctodl,powercap')).toEqual(['powercap', 'pctodl'])
    expect(() => parseAlgorithms('pctodl,magic')).toThrow(/unknown algorithm 'magic'; known: pctodl/)
    expect(() => parseAlgorithms('')).toThrow(UnknownNameError)
  })
})

describe('the sets beside the paper', () => {
  it('have ids of their own, and stay out where nobody asks for them', () => {
    for (const board of ['3080Ti', 'A100']) {
      const ids = everyTask.filter((task) => task.board === board).map(({ id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
      expect(tasksOf(board).every(({ set }) => set === undefined)).toBe(true)
      expect(tasksOf(board, undefined, ['latency'])).toHaveLength(28)
      expect(tasksOf(board, undefined, ['mixed', 'steps'])).toHaveLength(9)
    }
    expect(new Set(everyTask.map((task) => `${task.board} ${taskFileStem(task)}`)).size).toBe(everyTask.length)
  })

  it('promise multiples of the latency of a batch of 32 alone', () => {
    const [twice, four] = tasksOf('A100', [220, 420])
    const solo = soloLatencyMs('A100', 'resnet50')
    expect(latencyObjectives(twice!)!['resnet50']).toBeCloseTo(2 * solo, 1)
    expect(latencyObjectives(four!)!['resnet50']).toBeCloseTo(4 * solo, 1)
    expect(latencyObjectives(tasksOf('A100', [20])[0]!)).toBeUndefined()
    expect(Object.keys(latencyObjectives(tasksOf('A100', [61])[0]!)!)).toHaveLength(3)
    expect(latencyObjectives({ ...tasksOf('A100', [20])[0]!, latencyMs: 7 })).toEqual({ resnet50: 7 })
  })

  it('have no cells for algorithms that know one network only', () => {
    const cells = cellsOf({ ...onePerBoard, tasks: tasksOf('A100', [51]), algorithms: algorithmGroups.all })
    expect(cells.map(({ algorithm }) => algorithm)).toEqual([
      'pctodl',
      'plan-limit-step',
      'plan-limit',
      'equal-split-step',
      'equal-split',
      'measured-60s',
      'powercap-tuned',
      'directcap',
      'powercap',
    ])
  })

  it('run on boards of the ensemble, each cell under a name of its own', () => {
    const cells = cellsOf({
      ...onePerBoard,
      seeds: 2,
      variants: 3,
      tasks: tasksOf('A100', [20]),
      algorithms: ['pctodl'],
    })
    expect(cells.map(boardName)).toEqual(['A100~v1', 'A100~v1', 'A100~v2', 'A100~v2', 'A100~v3', 'A100~v3'])
    expect(new Set(cells.map(cellStem)).size).toBe(6)
    expect(cellStem(cells[3]!)).toBe('A100_pctodl/20_resnet50_imagenet_150W_v2_seed2')
  })
})

describe('latencies of batches', () => {
  const counters = (id: number, batches: number, latencySumMs: number) => ({
    id,
    tenant: { model: 'resnet50', mpsPercent: 50, batchSize: 8 },
    state: 'running' as const,
    samples: 8 * batches,
    batches,
    latencySumMs,
    lastCompletionMs: 0,
    lastBatchSize: 8,
  })

  it('are counted per batch, from where they are asked for', () => {
    const latencies = new BatchLatencies()
    latencies.add([counters(1, 10, 9000)], false)
    // 98 batches of 10 ms, then one of 50 and one of 80.
    latencies.add([counters(1, 108, 9980)], true)
    latencies.add([counters(1, 109, 10_030)], true)
    latencies.add([counters(1, 109, 10_030), counters(2, 1, 80)], true)
    expect(latencies.summary({ resnet50: 40 })).toEqual([
      { model: 'resnet50', objectiveMs: 40, meanMs: 11.1, p99Ms: 50 },
    ])
    expect(latencies.summary()[0]!.objectiveMs).toBeUndefined()
  })
})
