/**
 * Compares two policies on the same random stories, through public interfaces only.
 *
 *   pnpm contract --policies pctodl,plan-limit [--seed 1] [--stories 12]
 *
 * A policy is the name of a matrix algorithm, or a file whose default export creates one for a story, e.g. a file of
 * another checkout.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { createPolicy, parseAlgorithms } from '@pctodl/bench-runner'
import { compareImplementations, drawnStories, type Implementation } from '../test/contract/compare.js'
import { type PolicyOf, pctodl } from '../test/contract/harness.js'
import { refuse, scriptOptions } from './evaluation/script-options.js'

const { policies, seed, stories } = scriptOptions(import.meta.filename, {
  policies: 'pctodl,plan-limit',
  seed: 1,
  stories: 12,
})

async function implementation(name: string): Promise<Implementation> {
  if (name === 'pctodl') return { name, policyOf: pctodl }
  if (/\.[cm]?[jt]s$/.test(name)) {
    const { default: policyOf } = (await import(pathToFileURL(path.resolve(name)).href)) as { default: PolicyOf }
    return { name, policyOf }
  }
  const [algorithm] = parseAlgorithms(name)
  const policyOf: PolicyOf = ({ board, model = 'resnet50', caps }) =>
    createPolicy(algorithm!, {
      id: 0,
      board: board.replace(/~.*/, ''),
      model,
      dataset: 'imagenet',
      powerCapW: Math.min(...caps.map(({ powerCapW }) => powerCapW)),
      schedule: null,
      fixedIterations: null,
    })
  return { name, policyOf }
}

const names = policies.split(',')
if (names.length !== 2) refuse(`--policies: got ${policies}, expected two, as in pctodl,plan-limit`)
const [a, b] = await Promise.all(names.map(implementation))
await compareImplementations(a!, b!, drawnStories(stories, seed))
