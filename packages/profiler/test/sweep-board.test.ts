import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openSimulated } from '@pctodl/backend'
import { simulateSteadyState } from '@pctodl/gpu-sim'
import { smClocksAt } from '@pctodl/platform'
import { afterAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { sweepBoard } from '../src/sweep/sweep-board.js'
import { pctodlSweep } from '../src/sweep/sweep-command.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-sweep-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const tenants = [1, 2].map(() => ({ model: 'resnet50', mpsPercent: 50, batchSize: 16 }))
const memClockMhz = 1215

const call = (argv: readonly string[]) =>
  callCommand('pctodl sweep', pctodlSweep, ['--backend', 'sim', '--gpu', 'A100', ...argv], { env: process.env })

describe('sweepBoard', () => {
  it('finds a clock near the best one from noisy measurements', async () => {
    const board = openSimulated({ gpu: 'A100' })
    const { best, points } = await sweepBoard(board, { tenants, over: 'clocks', memClockMhz })
    expect(points.length).toBeLessThanOrEqual(6)
    const truth = simulateSteadyState('A100')
    const perJoule = (smClockMhz: number) => {
      const { throughput, powerW } = truth({ tenants, smClockMhz, memClockMhz })
      return throughput / powerW
    }
    const most = Math.max(...smClocksAt(board.gpu.spec, memClockMhz)!.map(perJoule))
    expect(perJoule(best.setting)).toBeGreaterThan(0.98 * most)
  })

  it('puts limit and clocks back, and leaves the board to others, also when it is interrupted', async () => {
    const board = openSimulated({ gpu: 'A100' })
    const { powerLimitW } = await board.gpu.info()
    const interrupted = new AbortController()
    const limits: number[] = []
    const swept = sweepBoard(board, {
      tenants,
      over: 'limits',
      memClockMhz,
      signal: interrupted.signal,
      onRow: ({ setting }) => {
        limits.push(setting)
        if (limits.length === 2) interrupted.abort(new Error('enough'))
      },
    })
    await expect(swept).rejects.toThrow('enough')
    expect(limits[0]).toBe(board.gpu.spec.powerLimitW.max)
    expect(limits[1]).toBeLessThan(limits[0]!)
    expect((await board.gpu.info()).powerLimitW).toBe(powerLimitW)
    expect(board.tenants.counters()).toEqual([])
    const lease = await board.gpu.acquire()
    await lease.release()
  })

  it('says which setting could not be measured', async () => {
    const board = openSimulated({ gpu: 'T4' })
    const five = Array.from({ length: 5 }, () => ({ model: 'vgg19', mpsPercent: 20, batchSize: 256 }))
    await expect(sweepBoard(board, { tenants: five, over: 'clocks', memClockMhz: null })).rejects.toThrow(
      /\d+ MHz: out-of-memory: /,
    )
    await (await board.gpu.acquire()).release()
  })
})

describe('pctodl sweep', () => {
  it('tells the best limit and what it saves', async () => {
    const { code, stdout, stderr } = await call(['--over', 'limits', '--shares', '50', '50'])
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(stdout).toMatch(
      /^Most for a watt at \d+ W: \d+ samples\/s, [\d.]+ W, [\d.]+ samples\/J \([3-6] measurements\)\n/,
    )
    expect(stdout).toMatch(/\nagainst 250 W: \+\d+ % samples\/J, -\d+ % throughput, -\d+ % power\n$/)
  })

  it('prints JSON', async () => {
    const { code, stdout } = await call(['--model', 'vgg19', '--json'])
    expect(code).toBe(0)
    const { board, over, best, points } = JSON.parse(stdout)
    expect({ board, over }).toEqual({ board: 'A100', over: 'clocks' })
    expect(points.length).toBeLessThanOrEqual(6)
    expect(best.samplesPerJoule).toBe(
      Math.max(...points.map((point: { readonly samplesPerJoule: number }) => point.samplesPerJoule)),
    )
  })

  it.each([
    [['--over', 'fans'], /--over.*clocks, limits/],
    [['--shares', '60', '60'], /--shares sum to 120 %/],
    [['--model', 'vgg19', 'resnet50'], /--model names 2 networks for 1 tenants/],
    [['--worker', 'torch'], /--worker is for a real board/],
  ])('refuses %j', async (argv, message) => {
    const { code, stderr } = await call(argv)
    expect(stderr).toMatch(message)
    expect(code).toBe(2)
  })
})
