import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { pctodlHetero } from '../src/commands.js'
import { findPlan, readProfile } from '../src/index.js'
import { madeUpTrace } from './made-up-trace.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-hetero-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const file = (name: string) => path.join(folder, name)
writeFileSync(file('fast.json'), JSON.stringify(madeUpTrace({ samplesPerS: 1200, limitsW: [300, 200, 150] })))
writeFileSync(file('slow.json'), JSON.stringify(madeUpTrace({ samplesPerS: 500, limitsW: [70, 60] })))

const call = (...argv: string[]) => callCommand('pctodl hetero', pctodlHetero, argv)
const plan = (...argv: string[]) => call('plan', ...argv)

const named = ['--gpu', `fast=${file('fast.json')}`, '--gpu', `slow=${file('slow.json')}`, '--batch', '512']
const idle = ['--idle-power', 'fast=30', '--idle-power', 'slow=12']

describe('pctodl hetero', () => {
  it('plans for a reader', async () => {
    const { code, stdout, stderr } = await plan(...named)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^GPU +share +percent +limit W +clock MHz +computes s/)
    const shares = [...stdout.matchAll(/^(fast|slow) +(\d+)\*? /gm)].map(([, , share]) => Number(share))
    expect(shares.reduce((a, b) => a + b)).toBe(512)
    expect(stdout).toMatch(/search +[\d.]+ ms, optimal/)
    expect(stdout).toContain('proportional split, best limits')
    expect(stderr).toContain('warning: fast: idle power was not measured')
  })

  it('prints the plan of the library as JSON', async () => {
    const { code, stdout } = await plan(...named, ...idle, '--eta', '0.7', '--json', '--max-share', 'fast=300')
    expect(code).toBe(0)
    const document = JSON.parse(stdout)
    const { warnings, ...found } = findPlan({
      gpus: [
        { profile: readProfile(file('fast.json'), { name: 'fast', idlePowerW: 30 }), maxShare: 300 },
        { profile: readProfile(file('slow.json'), { name: 'slow', idlePowerW: 12 }) },
      ],
      globalBatch: 512,
      eta: 0.7,
    })
    expect(document).toMatchObject({ format: 'pctodl-hetero-plan', version: 1, globalBatch: 512, ...found })
    expect(document.gpus[0].share).toBeLessThanOrEqual(300)
    expect(document.gpus[0].gradientWeight + document.gpus[1].gradientWeight).toBe(1)
    for (const other of Object.values<{ cost: number }>(document.compared)) {
      expect(other.cost).toBeGreaterThanOrEqual(document.cost * (1 - 1e-9))
    }
  })

  it('keeps budgets, and says which cannot be kept', async () => {
    const free = JSON.parse((await plan(...named, ...idle, '--eta', '1', '--json')).stdout)
    const timeS = 0.8 * free.timeS
    const held = JSON.parse((await plan(...named, ...idle, '--eta', '1', '--json', '--budget-time', `${timeS}`)).stdout)
    expect(held.timeS).toBeLessThanOrEqual(timeS)
    expect(held.energyJ).toBeGreaterThan(free.energyJ)
    const watts = JSON.parse((await plan(...named, ...idle, '--json', '--budget-power', '215')).stdout)
    expect(watts.powerLimitW).toBeLessThanOrEqual(215)
    const impossible = await plan(...named, ...idle, '--budget-time', '0.01')
    expect(impossible).toMatchObject({ code: 1, stdout: '' })
    expect(impossible.stderr).toMatch(/no plan takes at most 0\.01 s: the fastest takes [\d.]+ s\n$/)
    expect((await plan(...named, ...idle, '--budget-energy', '1')).stderr).toMatch(/the minimum is [\d.]+ J\n$/)
    expect((await plan(...named, '--max-share', 'fast=5', '--max-share', 'slow=5')).stderr).toMatch(
      /no split of 512 samples fits the GPUs/,
    )
  })

  it('does shares that no memory holds in micro-batches', async () => {
    const { code, stdout } = await plan(...named, ...idle, '--micro-batch', 'fast=100', '--micro-batch', 'slow=40')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^fast +\d+ in [3-6] /m)
    expect(stdout).toMatch(/^slow +\d+ in \d+ /m)
    const json = await plan(...named, ...idle, '--micro-batch', 'fast=100', '--json')
    const { gpus } = JSON.parse(json.stdout)
    expect(gpus[0].microBatches).toBe(Math.ceil(gpus[0].share / 100))
    expect((await plan(...named, '--micro-batch', 'other=5')).stderr).toMatch(/--micro-batch: unknown GPU 'other'/)
  })

  it.each([
    [[], /required option '--gpu <name=trace>' not specified/],
    [named.slice(0, 4), /required option '--batch <samples>' not specified/],
    [['--gpu', 'a10.json'], /a10\.json.* expected a file that can be read/],
    [[...named, '--gpu', 'fast=x'], /fast is given twice/],
    [[...named, '--idle-power', 'quick=3'], /--idle-power: unknown GPU 'quick'; known: fast, slow/],
    [[...named, '--idle-power', 'fast=cold'], /not a number from 0/],
    [
      [...named, '--limits', 'fast=175'],
      /fast: powerLimitsW: got 175, expected limits that were profiled: 150, 200, 300 W/,
    ],
    [[...named, '--eta', '2'], /not a number from 0 to 1/],
    [[...named, '--budget-time', '-1'], /not a positive number of s/],
    [['--gpu', `one=${file('gone.json')}`, '--batch', '8'], /file: got '.*gone\.json', expected a profile/],
  ])('%# refuses what cannot be meant', async (argv, message) => {
    const { code, stdout, stderr } = await plan(...argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })

  it('has help with an example, and says which commands there are', async () => {
    expect(await plan('--help')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Example:\n  pctodl hetero plan'),
    })
    for (const asked of ['--help', 'help']) {
      expect(await call(asked)).toMatchObject({ code: 0, stdout: expect.stringContaining('Commands:'), stderr: '' })
    }
    expect((await call('--version')).stdout).toMatch(/^\d+\.\d+\.\d+/)
    expect(await call()).toMatchObject({ code: 2, stderr: expect.stringContaining('no command; one of plan') })
    for (const word of ['pla', 'toString']) {
      expect(await call(word)).toMatchObject({ code: 2, stderr: expect.stringContaining(`unknown command '${word}'`) })
    }
  })
})
