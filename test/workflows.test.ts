import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const root = path.dirname(import.meta.dirname)
const folder = path.join(root, '.github', 'workflows')
const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
const workflows = readdirSync(folder).map((name) => ({ name, text: readFileSync(path.join(folder, name), 'utf8') }))

describe.each(workflows)('the workflow $name', ({ text }) => {
  it('names what it uses by commit, and by the version that people read: a tag can be moved by who takes over its repository', () => {
    const uses = [...text.matchAll(/\buses: *(.+)/g)].map(([, what]) => what)
    expect(uses).not.toEqual([])
    for (const what of uses) expect(what).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

  it('may only read, unless a job says what else it needs', () => {
    expect(text).toMatch(/^permissions:\n {2}contents: read\n/m)
  })

  it('runs what is there', () => {
    const commands = [...text.matchAll(/^ *- run: (.+)$/gm)].map(([, command]) => command!)
    expect(commands).not.toEqual([])
    for (const command of commands) {
      for (const [, script] of command.matchAll(/\b(?:npm run|pnpm) ([a-z][\w:-]*)/g)) {
        if (script !== 'tsx') expect(scripts, command).toHaveProperty([script!])
      }
      for (const [file] of command.matchAll(/(?<![\w/.-])(?:\.ci|scripts|test)\/[\w./-]+/g)) {
        expect(existsSync(path.join(root, file)), file).toBe(true)
      }
    }
  })
})

it('brings updates of what is pinned', () => {
  const updates = readFileSync(path.join(root, '.github', 'dependabot.yml'), 'utf8')
  for (const ecosystem of ['npm', 'github-actions']) expect(updates).toContain(`package-ecosystem: ${ecosystem}`)
})

it('runs every test, also the slow ones', () => {
  const texts = [...workflows.map(({ text }) => text), readFileSync(path.join(root, '.ci', 'run'), 'utf8')]
  expect(texts.join('\n').match(/\bnpm run test:all\b/g)).toHaveLength(3)
  expect(texts.join('\n')).not.toMatch(/\bnpm test\b|PCTODL_QUICK/)
})
