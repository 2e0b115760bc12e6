import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { networkName, UnknownNameError } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { algorithmNames, benchTasks, capsOf, parseAlgorithms, taskFileStem, tasksOf } from '../src/index.js'

const reference = path.resolve(import.meta.dirname, '../../../../shared/data/task_matrix.json')

describe('the task matrix', () => {
  it('has 30 ids, 16 tasks a board, and networks that exist', () => {
    expect(new Set(benchTasks.map((task) => task.id)).size).toBe(30)
    expect(tasksOf('3080Ti')).toHaveLength(16)
    expect(tasksOf('A100')).toHaveLength(16)
    for (const task of benchTasks) expect(() => networkName(task.model)).not.toThrow()
  })

  it.skipIf(!existsSync(reference))('is the published one (skipped where the reference file is absent)', () => {
    const { tasks } = JSON.parse(readFileSync(reference, 'utf8'))
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
    expect(capsOf(down!, 5000)).toEqual([
      { atMs: 0, powerCapW: 200 },
      { atMs: 250_000, powerCapW: 160 },
      { atMs: 500_000, powerCapW: 120 },
    ])
    expect(taskFileStem(down!)).toBe('29_resnet50_imagenet_power_down')
    expect(taskFileStem(tasksOf('3080Ti', [4])[0]!)).toBe('4_maxvit_imagenet_170W')
  })
})

describe('a list of algorithms', () => {
  it('is one name, several, or all', () => {
    expect(parseAlgorithms('all')).toEqual([...algorithmNames])
    expect(parseAlgorithms('powercap, pctodl,powercap')).toEqual(['powercap', 'pctodl'])
    expect(() => parseAlgorithms('pctodl,magic')).toThrow(/unknown algorithm 'magic'; known: pctodl/)
    expect(() => parseAlgorithms('')).toThrow(UnknownNameError)
  })
})
