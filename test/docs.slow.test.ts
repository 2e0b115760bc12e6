import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Block, blocksOf, DocumentBlocks, promisedOf, wordsOf } from './document-blocks.js'

// Every code block of the guides is executed: see `document-blocks.ts` for what each kind of block means.

const root = path.resolve(import.meta.dirname, '..')
const guides = readdirSync(path.join(root, 'docs')).filter((file) => file.endsWith('.md') && file !== 'glossary.md')
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONCEPTS.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...guides.map((file) => `docs/${file}`),
]
const read = (file: string) => readFileSync(path.join(root, file), 'utf8')

/** What is tried with real programs beside the simulated host: `packages/sim-host/test/recipes.test.ts`. */
const runElsewhere = ['python', 'yaml', 'dockerfile']

describe.each(guides)('docs/%s', (guide) => {
  const blocks = blocksOf(read(`docs/${guide}`)).filter(({ language }) => !runElsewhere.includes(language))
  const home = process.cwd()
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-docs-'))
  const runner = new DocumentBlocks(root)
  // The blocks of a guide build on each other, in one folder: what the first writes, the next reads.
  beforeAll(() => process.chdir(folder))
  afterAll(() => {
    process.chdir(home)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    runner.close()
  })

  it('has blocks', () => expect(blocks.length).toBeGreaterThan(0))

  let printed = ''
  it.each(blocks.map((block) => [`${block.language} ${block.mark} of line ${block.line}`.replace('  ', ' '), block]))(
    '%s does what it says',
    async (_, block: Block) => {
      if (block.language === 'text') {
        for (const line of block.text.split('\n').filter((text) => text.trim() !== '')) {
          expect(promisedOf(printed, block.mark), `printed before:\n${printed}`).toContain(promisedOf(line, block.mark))
        }
      } else {
        printed = await runner.run(block)
      }
    },
  )
})

it('every block of the guides is of a kind that is executed', () => {
  for (const guide of guides) {
    for (const { language, mark, line } of blocksOf(read(`docs/${guide}`))) {
      expect(['ts', 'sh', 'sh real', 'text', 'text ~', ...runElsewhere], `${guide}:${line}`).toContain(
        `${language} ${mark}`.trim(),
      )
    }
  }
})

it('links and pictures lead to files that are there', () => {
  for (const page of pages) {
    for (const [, target] of read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g)) {
      expect(existsSync(path.resolve(root, path.dirname(page), target!)), `${page} -> ${target}`).toBe(true)
    }
  }
})

it('labels of state diagrams contain no `;` or `:`, which would end them', () => {
  const readmes = readdirSync(path.join(root, 'packages')).map((name) => `packages/${name}/README.md`)
  const diagrams = readmes.flatMap((file) => blocksOf(read(file)).filter(({ language }) => language === 'mermaid'))
  expect(diagrams.length).toBeGreaterThan(0)
  const labels = diagrams.flatMap(({ text }) => [...text.matchAll(/-->[^:]*:(.*)/g)].map(([, label]) => label!))
  expect(labels.filter((label) => /[;:]/.test(label))).toEqual([])
})

it('CONTRIBUTING names commands that the repository has', () => {
  const { scripts } = JSON.parse(read('package.json'))
  const named = [...read('CONTRIBUTING.md').matchAll(/^\| `pnpm ([\w:-]+)/gm)].map(([, script]) => script!)
  // `changeset` is a program of the repository's dependencies.
  expect(named.filter((script) => script !== 'changeset' && scripts[script] === undefined)).toEqual([])
})

it('the root README leads to every guide', () => {
  const readme = read('README.md')
  expect(guides.filter((guide) => !readme.includes(`(docs/${guide})`))).toEqual([])
})

describe('a shell line of a guide', () => {
  it('is split as a shell would', () => {
    expect(wordsOf(`pctodl-x --a 1 'two words' "it's" plain#not # a comment`)).toEqual([
      ...['pctodl-x', '--a', '1', 'two words', "it's", 'plain#not'],
    ])
  })

  it('may not use what the runner does not understand', () => {
    for (const line of ['a | b', 'a > b', 'a; b', 'echo $HOME', 'a "b']) expect(() => wordsOf(line)).toThrow(/line/)
  })

  it('fails where the command fails or an option does not exist', async () => {
    const runner = new DocumentBlocks(root)
    const sh = (text: string, mark = '') => runner.run({ language: 'sh', mark, text, line: 1 })
    await expect(sh('pctodl predict --platform none --model resnet50 --p 10 --b 8')).rejects.toThrow(/ended with/)
    await expect(sh('pctodl profile --no-such-option 1', 'real')).rejects.toThrow(/--no-such-option/)
    await expect(sh('no-such-command')).rejects.toThrow(/no-such-command/)
    runner.close()
  })
})
