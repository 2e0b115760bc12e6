import { readFileSync } from 'node:fs'
import { afterEach, expect, it, vi } from 'vitest'
import { faultKinds } from '../src/fault-scenario.js'
import { assertFaultScenario } from '../src/index.js'

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
const readme = read('README.md')
const guide = read('../../docs/how-the-simulator-works.md')
const block = (language: string) => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(readme)![1]!

afterEach(() => vi.restoreAllMocks())

it('the example of the README is the one that runs here', () => {
  expect(block('ts')).toBe(read('examples/share-a-board.ts'))
})

it('the example runs in virtual time and reads a power near the true one', async () => {
  const printed: unknown[] = []
  vi.spyOn(console, 'log').mockImplementation((value) => printed.push(value))
  await import('../examples/share-a-board.js')
  const [, read, drawn] = /^1005 MHz, ([\d.]+) W read, ([\d.]+) W drawn$/.exec(String(printed[0]))!.map(Number)
  expect(Math.abs(read! / drawn! - 1)).toBeLessThan(0.1)
  expect(printed[1]).toEqual([
    expect.stringMatching(/^resnet50: \d+ samples$/),
    expect.stringMatching(/^mobilenet_v2: \d+ samples$/),
  ])
})

it('the example with requests is the one that runs here, and keeps its objectives', async () => {
  expect(guide).toContain(`\`\`\`ts\n${read('examples/serve-requests.ts')}\`\`\``)
  const printed: string[] = []
  vi.spyOn(console, 'log').mockImplementation((value) => printed.push(value))
  await import('../examples/serve-requests.js')
  expect(printed).toEqual([
    expect.stringMatching(/^search: \d+\/s, p99 \d+ ms, (99\.\d|100\.0) % in time$/),
    expect.stringMatching(/^photos: \d+\/s, p99 \d+ ms, (99\.\d|100\.0) % in time$/),
  ])
})

it('the example that trains is the one that runs here, and the uneven split is the faster one', async () => {
  expect(guide).toContain(`\`\`\`ts\n${read('examples/train-on-boards.ts')}\`\`\``)
  const printed: string[] = []
  vi.spyOn(console, 'log').mockImplementation((value) => printed.push(value))
  await import('../examples/train-on-boards.js')
  const [even, uneven] = printed.map((line) => Number(/^\d+ \+ \d+: ([\d.]+) ms a step$/.exec(line)![1]))
  expect(uneven!).toBeLessThan(0.95 * even!)
})

it('the scenario of the README is one', () => {
  expect(() => assertFaultScenario(JSON.parse(block('json')))).not.toThrow()
})

it('the README names every kind of fault', () => {
  for (const kind of faultKinds) expect(readme).toContain(`\`${kind}\``)
})

it('the example with any network is the one that runs here, faster at each narrower precision', async () => {
  expect(guide).toContain(`\`\`\`ts\n${read('examples/any-network.ts')}\`\`\``)
  const printed: string[] = []
  vi.spyOn(console, 'log').mockImplementation((value) => printed.push(String(value)))
  await import('../examples/any-network.js')
  const rates = printed.map((line) => /^(\w+): (\d+) samples\/s, \d+ W$/.exec(line))
  expect(rates.map((rate) => rate?.[1])).toEqual(['fp32', 'tf32', 'fp16', 'int8'])
  const numbers = rates.map((rate) => Number(rate![2]))
  expect([...numbers].sort((a, b) => a - b)).toEqual(numbers)
})
