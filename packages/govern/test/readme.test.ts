import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../src/config.js'

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8')
const readme = read('../README.md')

describe('README', () => {
  it('shows a configuration that is one, and so is the example', () => {
    const text = /```yaml\n([\s\S]*?)```/.exec(readme)![1]!
    const { powerCapW, intervalMs, ...config } = parseConfig(text, 'README.md')
    expect({ powerCapW, intervalMs }).toEqual({ powerCapW: 250, intervalMs: 250 })
    expect(parseConfig(read('../examples/govern.yaml'), 'govern.yaml')).toMatchObject(config)
    const sidecar = /govern\.yaml: \|\n((?: {4}.*\n)+)/.exec(read('../examples/sidecar.yaml'))![1]!
    expect(parseConfig(sidecar, 'sidecar.yaml').services).toHaveLength(1)
  })

  it('has an example that prints what it says', async () => {
    const { readTriton } = await import('../src/index.js')
    const code = /```ts\n([\s\S]*?)```/.exec(readme)![1]!.replace(/^import .*\n/, '')
    const lines: string[] = []
    const plain = code
      .replaceAll('!)', ')')
      .replaceAll('!}', '}')
      .replaceAll('! ', ' ')
      .replaceAll(')!', ')')
      .replaceAll('Ms!', 'Ms')
    new Function('readTriton', 'console', plain)(readTriton, { log: (line: string) => lines.push(line) })
    expect(readme).toContain(`It prints \`${lines.join()}\`.`)
  })
})
