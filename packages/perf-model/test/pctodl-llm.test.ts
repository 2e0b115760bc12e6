import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

describe('pctodl llm', () => {
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

  it('says that a config states quantised weights where --dtype does not', async () => {
    const file = path.join(folder, 'quantised.json')
    writeFileSync(file, JSON.stringify({ ...llama8b, quantization_config: { quant_method: 'fp8' } }))
    const notes = async (...argv: string[]) =>
      (await runCommand('pctodl llm', llm, ['--config', file, '--gpu', 'H200', ...argv])).stdout
    expect(await notes()).toContain('quantised weights, this is for bfloat16: see --dtype')
    expect(await notes('--dtype', 'fp8')).not.toContain('quantised')
    expect((await call('--gpu', 'H200')).stdout).not.toContain('quantised')
  })

  it('says none where nothing keeps the cap or the objective, and whether it fits', async () => {
    const none = await json('--gpu', 'GB200', '--power-cap', '201', '--max-tpot-ms', '0.01')
    expect([none.decode, none.fewestJoules.decode]).toEqual([null, null])
    expect((await json('--gpu', 'RTX 4090', '--batch', '64')).memory.fits).toBe(false)
    expect((await call('--gpu', 'RTX 4090', '--batch', '64')).stdout).toContain('does not fit')
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
