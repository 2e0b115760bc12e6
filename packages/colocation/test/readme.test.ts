import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { expectation } from '../examples/predict.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

describe('README', () => {
  it('shows the example as it stands in the file', () => {
    const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
    expect(blocks).toEqual([read('../examples/predict.ts')])
  })

  const names = ['resnet50_batch8-inf', 'vgg19_batch8-inf', 'mobilenet_v2_batch32-inf']
  const study = (name: string) => read(`../datasets/simulated-v100/${name}`)

  it('shows an example that works, and what it answers', () => {
    const answer = expectation(study('workloads.csv'), study('colocations3.csv'), names)
    expect(read('../README.md').replace(/\s+/g, ' ')).toContain(answer)
  })

  it('shows an example that says what nobody measured', () => {
    const few = study('colocations2.csv').split('\n').slice(0, 80).join('\n')
    const answer = expectation(study('workloads.csv'), few, names)
    expect(answer).toMatch(/\(how surely, nobody measured\)$/)
  })
})
