import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { commandsFor } from '../examples/commands-for.js'
import { plan } from '../examples/plan.js'
import { mapColumns } from '../src/map/deployment-map.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

describe.each([
  ['README.md', 'plan.ts'],
  ['DEPLOY.md', 'commands-for.ts'],
])('%s', (page, example) => {
  it('shows the example as it stands in the file', () => {
    const blocks = [...read(`../${page}`).matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
    expect(blocks).toEqual([read(`../examples/${example}`)])
  })
})

it('README shows what the example answers', async () => {
  expect(read('../README.md')).toContain(`\n${await plan('A100-80GB', 2)}\n`)
})

it('DEPLOY shows what the example answers', () => {
  const map = `${mapColumns.join()}\n0,0,resnet50,4,3,8,2\n`
  const commands = commandsFor(map, 0, 'A100-80GB', ['serve', '{model}', '{batch}'])
  expect(read('../DEPLOY.md')).toContain(`\n${commands.slice(0, 2).join('\n')}\n`)
  expect(commands.at(-1)).toMatch(/serve resnet50 8 & {2}# 2 times$/)
})
