import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { networkNames } from '@pctodl/platform'
import { expect, it, vi } from 'vitest'
import { summary } from '../examples/read-onnx.js'
import { writeOnnx } from '../src/node.js'
import { networkFacts } from './facts.js'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

function block(language: string): string | undefined {
  return new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1]
}

/** Without the padding that a Markdown formatter adds to the cells of a table. */
const tidy = (table: string) =>
  table
    .replace(/ +/g, ' ')
    .replace(/-+/g, '-')
    .replace(/ ?\| ?/g, '|')

it('shows the example as it is, and what it prints', async () => {
  const example = new URL('../examples/work-of-a-network.ts', import.meta.url)
  expect(block('ts')).toBe(readFileSync(example, 'utf8'))
  const printed: unknown[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((line) => printed.push(line))
  try {
    await import('../examples/work-of-a-network.js')
  } finally {
    log.mockRestore()
  }
  expect(`${printed.join('\n')}\n`).toBe(block('text'))
})

it('has a table of the networks with the figures that the graphs give', () => {
  const rows = networkNames.map((name) => {
    const facts = networkFacts(name)
    const cells = [
      `\`${name}\``,
      facts.parameters.toLocaleString('en-US'),
      String(facts.operators),
      facts.gflops.toFixed(2),
      (facts.activationElements / 1e6).toFixed(1),
      (facts.weightBytes / 1e6).toFixed(1),
      (facts.peakActivationBytes / 1e6).toFixed(1),
    ]
    return `| ${cells.join(' | ')} |`
  })
  const table = [
    '| network | parameters | operators | GFLOP | activations, M elements | weights, fp16 MB | peak activations, fp16 MB |',
    '|---|--:|--:|--:|--:|--:|--:|',
    ...rows,
  ].join('\n')
  const shown = /<!-- networks: begin -->\n([\s\S]*?)\n<!-- networks: end -->/.exec(readme)?.[1]
  expect(tidy(shown ?? '')).toBe(tidy(table))
})

it('leads to an example that reads a file', () => {
  expect(readme).toContain('](examples/read-onnx.ts)')
  const folder = mkdtempSync(path.join(tmpdir(), 'model-zoo-'))
  try {
    const [file] = writeOnnx('mobilenet_v2', folder)
    expect(summary(file!.path)).toBe('mobilenet_v2: 3.5 M parameters, 151 operators, 0.60 GFLOP')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
