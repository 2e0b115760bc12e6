import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { simulateSteadyState } from '@pctodl/gpu-sim'
import { writeOnnx } from '@pctodl/model-zoo/node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { sim } from '../src/commands.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pctodl-simulate-'))
  writeOnnx('mobilenet_v2', folder, { weights: 'external' })
})
afterAll(() => rmSync(folder, { recursive: true }))

async function run(...words: readonly string[]) {
  return callCommand('pctodl sim', sim, ['simulate', ...words])
}

describe('pctodl sim simulate', () => {
  it('says what a network from a file settles to, in the units of the simulator', async () => {
    const file = path.join(folder, 'mobilenet_v2.onnx')
    const load = ['--load', 'mine:50:32,resnet50:50:8', '--sm-clock', '1200', '--precision', 'int8']
    const { code, stdout, stderr } = await run('--gpu', 'A100', '--onnx', `mine=${file}`, ...load, '--json')
    expect([code, stderr]).toEqual([0, ''])
    const expected = simulateSteadyState('A100', { precision: 'int8' })({
      tenants: [
        { model: 'mobilenet_v2', mpsPercent: 50, batchSize: 32 },
        { model: 'resnet50', mpsPercent: 50, batchSize: 8 },
      ],
      smClockMhz: 1200,
      memClockMhz: 1215,
    })
    const { throughput, powerW, tenants, unknownOperators } = JSON.parse(stdout)
    expect([throughput, powerW, unknownOperators]).toEqual([expected.throughput, expected.powerW, []])
    expect(tenants.map(({ model }: { model: string }) => model)).toEqual(['mine', 'resnet50'])
  })

  it('prints a line for each tenant and one for the board', async () => {
    const { stdout } = await run('--gpu', 'A100~v2', '--load', 'vgg19:100:16', '--host', 'device-only')
    expect(stdout).toMatch(
      /\nvgg19 100% 16 108 [\d.]+ [\d.]+ \d+\nA100~v2 in host .*: [\d.]+ samples\/s, [\d.]+ W of 250, /,
    )
  })

  it('ends with 1 where the tenants do not fit, and says the remedy', async () => {
    const { code, stderr } = await run('--gpu', '3080Ti', '--load', 'maxvit_t:50:256,maxvit_t:50:512')
    expect(code).toBe(1)
    expect(stderr).toContain('smaller batches')
  })

  it.each([
    [['--load', 'resnet50:50:32'], '--gpu'],
    [['--gpu', 'A100'], '--load'],
    [['--gpu', 'A100', '--load', 'resnet50:50'], 'network:share:batch'],
    [['--gpu', 'A100', '--load', 'yolo:50:8'], 'yolo'],
    [['--gpu', 'A100', '--load', 'resnet50:50:8', '--onnx', 'none.onnx'], 'none.onnx'],
    [['--gpu', 'A100', '--load', 'resnet50:50:8', '--size', 'sequence'], '--size'],
    [['--gpu', 'A100', '--load', 'resnet50:50:8', '--sm-clock', '1001'], '--sm-clock'],
    [['--gpu', 'A100', '--load', 'resnet50:50:8', '--mem-clock', '5'], '--mem-clock'],
    [['--gpu', 'A100', '--load', 'resnet50:50:8', '--precision', 'fp8'], 'precision'],
    [['--gpu', 'A100', '--load', 'resnet50:50:8', '--host', 'mine'], 'host'],
  ])('refuses %j by name', async (words, named) => {
    const { code, stderr } = await run(...words)
    expect(code).toBe(2)
    expect(stderr).toContain(named)
  })
})
