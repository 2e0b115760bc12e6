import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { llm } from '../src/commands.js'
import { runCommand } from './run-command.js'

const folder = mkdtempSync(path.join(tmpdir(), 'llm-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const config = path.join(folder, 'config.json')
const llama8b = {
  model_type: 'llama',
  hidden_size: 4096,
  intermediate_size: 14336,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: 128256,
}
writeFileSync(config, JSON.stringify(llama8b))

const call = (...argv: string[]) => runCommand('pctodl llm', llm, ['--config', config, ...argv])
const json = async (...argv: string[]) => {
  const { code, stdout, stderr } = await call(...argv, '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}
const infeasible = async (...argv: string[]) => {
  const { code, stdout, stderr } = await call(...argv, '--json')
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  return JSON.parse(stdout)
}

// Passes of this model with random weights, measured on two H100 at their limit of 700 W. The energies are those of the first.
const passes = readFileSync(path.join(import.meta.dirname, '../../../evidence/H100/operators.csv'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split(','))
  .filter(([, kind]) => kind!.startsWith('llm_'))

describe('pctodl llm', () => {
  it.each(
    passes.map(([unit, kind, , , , , batch, length, , , , ms, , watts, , , lowestClock]) => ({
      unit,
      phase: kind!.replace('llm_', ''),
      batch: Number(batch),
      length: Number(length),
      ms: Number(ms),
      watts: Number(watts),
      throttled: Number(lowestClock) < 1980,
    })),
  )('predicts $phase of $batch x $length tokens as measured on H100 number $unit', async (measured) => {
    const { phase, batch, length, ms, watts, throttled } = measured
    // A prefill of several prompts takes as long as one after the other.
    const sizes = phase === 'prefill' ? ['--prompt', `${length}`] : ['--batch', `${batch}`, '--context', `${length}`]
    const predicted = (await json('--gpu', 'H100', ...sizes))[phase]
    const passesAlike = phase === 'prefill' ? batch : 1
    expect(Math.abs((passesAlike * predicted.ms) / ms - 1)).toBeLessThan(0.06)
    expect(Math.abs(predicted.powerW / watts - 1)).toBeLessThan(0.051)
    expect(predicted.smClockMhz < 1980).toBe(throttled)
  })

  it('prints both phases, the clock of the fewest joules, and what nobody has measured', async () => {
    const { code, stdout } = await call('--gpu', 'H200', '--power-cap', '500', '--batch', '32')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^llama, 8\.03 billion parameters, bfloat16, on H200 at 500 W$/m)
    expect(stdout).toMatch(/^prefill of 4096 tokens \(TTFT\) +\d+\.\d\d ms +\d+ +\d+ W +0\.\d+ +\d+ MHz$/m)
    expect(stdout).toMatch(/^decode, fewest joules +\d/m)
    expect(stdout).toContain('no public measurement')
  })

  it('keeps a cap by a lower clock, at the cost of time', async () => {
    const [free, capped] = [await json('--gpu', 'H200'), await json('--gpu', 'H200', '--power-cap', '350')]
    expect(capped.prefill.powerW).toBeLessThanOrEqual(350)
    expect(capped.prefill.ms).toBeGreaterThan(free.prefill.ms)
    expect(capped.prefill.smClockMhz).toBeLessThan(free.prefill.smClockMhz)
  })

  it('finds fewer joules at a lower clock, within the time per token', async () => {
    const { decode, fewestJoules } = await json('--gpu', 'H200', '--batch', '16')
    expect(fewestJoules.decode.joulesPerToken).toBeLessThan(decode.joulesPerToken)
    const tight = await json('--gpu', 'H200', '--batch', '16', '--max-tpot-ms', String(decode.ms * 1.01))
    expect(tight.fewestJoules.decode.ms).toBeLessThanOrEqual(decode.ms * 1.01)
    expect(tight.fewestJoules.decode.joulesPerToken).toBeGreaterThanOrEqual(fewestJoules.decode.joulesPerToken)
  })

  it.each([
    ['a config of quantised weights', { quantization_config: { quant_method: 'fp8' } }, [], /quantised.*see --dtype/],
    ['weights and cache that fill the memory', {}, ['--batch', '225'], /less than 10 % of the memory/],
    ['a slow format', { hidden_size: 1024 }, ['--dtype', 'fp8'], /Slower than in bfloat16.*of fp8.*: decode/],
    ['a prompt beyond the context', {}, ['--prompt', '132000'], /longer than the model's, 131072 tokens/],
    ['a prompt beyond the measured ones', {}, ['--prompt', '16385'], /longest measured prompt has 16384/],
    ['a batch beyond the measured ones', {}, ['--batch', '2049'], /largest batch 2048: this extrapolates/],
    ['a cap above the limit', {}, ['--power-cap', '701'], /above the board's default limit counts as 700 W/],
    ['a cap that no clock keeps', {}, ['--power-cap', '100'], /least power, at the lowest clock, is \d+ W in prefill/],
  ])('says so for %s', async (_, fields, argv, note) => {
    const file = path.join(folder, 'other.json')
    writeFileSync(file, JSON.stringify({ ...llama8b, ...fields }))
    const { stdout } = await runCommand('pctodl llm', llm, ['--config', file, '--gpu', 'H200', ...argv])
    expect(stdout).toMatch(note)
    expect((await call('--gpu', 'H200')).stdout).not.toMatch(note)
  })

  it('keeps all but the experts of an MXFP4 model in bfloat16, and refuses the format without experts', async () => {
    const file = path.join(folder, 'gpt-oss.json')
    const shape = { hidden_size: 2880, intermediate_size: 2880, num_hidden_layers: 36, num_attention_heads: 64 }
    const experts = { num_local_experts: 128, num_experts_per_tok: 4, sliding_window: 128, head_dim: 64 }
    writeFileSync(file, JSON.stringify({ ...llama8b, ...shape, ...experts, model_type: 'gpt_oss', vocab_size: 201088 }))
    const argv = ['--config', file, '--gpu', 'H100', '--dtype', 'w4a16_mxfp4', '--json']
    const { memory } = JSON.parse((await runCommand('pctodl llm', llm, argv)).stdout)
    // The published checkpoint has 60.8 GiB.
    expect(memory.weights / 2 ** 30 / 60.8).toBeCloseTo(1, 1)
    const dense = await call('--gpu', 'H100', '--dtype', 'w4a16_mxfp4')
    expect([dense.code, dense.stderr]).toEqual([2, expect.stringMatching(/without experts/)])
  })

  it('says none where nothing keeps the cap or the objective, and whether it fits', async () => {
    const none = await infeasible('--gpu', 'GB200', '--power-cap', '201', '--max-tpot-ms', '0.01')
    expect([none.decode, none.fewestJoules.decode]).toEqual([null, null])
    expect((await infeasible('--gpu', 'RTX 4090', '--batch', '64')).memory.fits).toBe(false)
    expect((await call('--gpu', 'RTX 4090', '--batch', '64')).stdout).toContain('does not fit')
  })

  it.each([
    ['a cap', ['--gpu', 'H200', '--power-cap', '100'], 'no clock keeps the cap or the objective'],
    ['an objective', ['--gpu', 'H200', '--max-tpot-ms', '0.1'], 'no clock keeps the cap or the objective'],
    ['memory', ['--gpu', 'RTX 4090', '--batch', '64'], 'weights and cache do not fit the memory'],
  ])('exits with 1, and still prints the table, for %s that cannot be kept', async (_, argv, reason) => {
    const { code, stdout, stderr } = await call(...argv)
    expect({ code, stderr }).toEqual({ code: 1, stderr: `pctodl llm: ${reason}\n` })
    expect(stdout).toMatch(/^decode, fewest joules/m)
  })

  it('counts the cache of a prompt that is longer than all contexts', async () => {
    const { memory } = await json('--gpu', 'H200', '--context', '16', '--prompt', '8192')
    expect(memory.cache).toBe(2 * 32 * 8192 * 8 * 128 * 2)
  })

  it.each([
    [['--gpu', 'K80'], /K80/],
    [['--gpu', 'A100', '--dtype', 'fp8'], /dtype.*fp8.*bfloat16/],
    [['--gpu', 'H200', '--batch', '0'], /--batch/],
    [['--gpu', 'H200', '--config', 'absent.json'], /absent\.json/],
  ])('refuses %s in one line', async (argv, message) => {
    const { code, stderr } = await call(...argv)
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})
