import { readFileSync } from 'node:fs'
import { PctodlError } from '@pctodl/platform'
import { parse, YAMLError } from 'yaml'
import { z } from 'zod'
import type { LatencyKind, MetricNames } from './metrics/histograms.js'

export interface LatencyObjective {
  readonly ms: number
  /** Share of the requests that must be answered within `ms`. */
  readonly attainment: number
}

interface Common {
  readonly name: string
  readonly objective: LatencyObjective
}

export interface TritonService extends Common {
  readonly triton: string
  /** URL of the metrics. Default: port 8002 of the same host. */
  readonly metrics?: string | undefined
  readonly model: string
}

export interface VllmService extends Common {
  readonly vllm: string
  readonly model: string
  readonly objective: LatencyObjective & { readonly of: LatencyKind }
}

export interface MappedService extends Common {
  readonly prometheus: string
  readonly series: MetricNames
}

export type ServiceConfig = TritonService | VllmService | MappedService

export interface GovernConfig {
  /** The board: index, UUID or PCI bus id. */
  readonly gpu: number | string
  readonly powerCapW?: number | undefined
  readonly intervalMs: number
  readonly services: readonly ServiceConfig[]
}

const url = z.url({ protocol: /^https?$/, error: 'an http(s) URL, such as http://127.0.0.1:8000' })
/** URL of a server. A trailing `/v1` or `/v2`, which clients append, is removed. */
const server = url.transform((address) => address.replace(/(\/v[12])?\/*$/, ''))
const common = {
  name: z.string().regex(/^[\w.:/+-]{1,64}$/, 'at most 64 letters, digits and ._:/+-'),
  objective: z.strictObject({
    ms: z.number('the latency that is promised, ms').positive('milliseconds above 0'),
    attainment: z.number().gt(0.5, 'a share above 0.5').lt(1, 'a share below 1, such as 0.99').default(0.99),
  }),
}
const triton = z.strictObject({
  ...common,
  triton: server,
  metrics: url.optional(),
  model: z.string('the name of the model in the server'),
})
const vllm = z.strictObject({
  ...common,
  vllm: server,
  model: z.string('the name of the model in the server'),
  objective: common.objective.extend({ of: z.enum(['e2e', 'ttft', 'tpot']).default('e2e') }),
})
const prometheus = z.strictObject({
  ...common,
  prometheus: url,
  series: z.strictObject({
    histogram: z.string('the name of the histogram of latencies, without _bucket'),
    inFlight: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
})

/** Keys of the kinds of service, in the order of the union in the schema. */
const kinds = ['triton', 'vllm', 'prometheus']
const schema: z.ZodType<GovernConfig> = z.strictObject({
  gpu: z.union([z.int().min(0), z.string()], 'one board: its index, UUID or PCI bus id').default(0),
  powerCapW: z.number().positive('watts above 0').optional(),
  intervalMs: z.int().min(100, 'at least 100').max(2000, 'at most 2000').default(250),
  services: z
    .array(z.union([triton, vllm, prometheus], `one of the keys ${kinds.join(', ')}`))
    .min(1, 'at least one service')
    .refine(
      (services) => new Set(services.map(({ name }) => name)).size === services.length,
      'services of different names',
    ),
})

/** @throws PctodlError `CONFIG` with the file, the field, its value and what is expected */
export function parseConfig(text: string, file: string): GovernConfig {
  let value: unknown
  try {
    value = parse(text)
  } catch (error) {
    if (!(error instanceof YAMLError)) throw error
    throw new PctodlError('CONFIG', `${file}: ${error.message.split('\n')[0]}; write YAML as in the README`)
  }
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { issue, above } = deepest(result.error.issues[0]!, value)
  const path = [...above, ...issue.path]
  const place = `${file}: ${path.join('.') || 'the whole'}`
  if (issue.code === 'unrecognized_keys') throw new PctodlError('CONFIG', `${place}: there is no key ${issue.keys[0]}`)
  const shown = JSON.stringify(at(value, path)) ?? 'nothing'
  const expected = issue.message.replace(/^Invalid input: expected (\w+),.*/, '$1')
  throw new PctodlError('CONFIG', `${place}: got ${shown}, expected ${expected}`)
}

/** Finds the error to report for a service of no valid kind: the error of the kind whose server key is present. */
function deepest(issue: z.core.$ZodIssue, value: unknown): { issue: z.core.$ZodIssue; above: PropertyKey[] } {
  if (issue.code !== 'invalid_union' || issue.path[0] !== 'services') return { issue, above: [] }
  const service = at(value, issue.path)
  const kind = kinds.findIndex((key) => typeof service === 'object' && service !== null && key in service)
  const first = issue.errors[kind]?.[0]
  return first === undefined ? { issue, above: [] } : { issue: first, above: issue.path }
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((found, key) => (found as Record<PropertyKey, unknown> | undefined)?.[key], value)
}

/** @throws PctodlError `CONFIG`; errors of the file system */
export function readConfig(file: string): GovernConfig {
  return parseConfig(readFileSync(file, 'utf8'), file)
}
