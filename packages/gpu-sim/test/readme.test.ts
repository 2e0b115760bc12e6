import { readFileSync } from 'node:fs'
import { afterEach, expect, it, vi } from 'vitest'
import { assertFaultScenario, faultKinds } from '../src/index.js'

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
const readme = read('README.md')
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

it('the scenario of the README is one', () => {
  expect(() => assertFaultScenario(JSON.parse(block('json')))).not.toThrow()
})

it('the README names every kind of fault', () => {
  for (const kind of faultKinds) expect(readme).toContain(`\`${kind}\``)
})
