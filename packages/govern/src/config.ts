import { readFileSync } from 'node:fs'
import { reasonOf } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import { parse } from 'yaml'
import { z } from 'zod'
import { type SeriesNames, vllmNames } from './metrics/histograms.js'

interface Common {
  readonly name: string
  /** The share `attainment` of the requests must be answered within `ms`. */
  readonly objective: { readonly ms: number; readonly attainment: number }
  readonly metrics: string
}

export interface TritonService extends Common {
  readonly triton: string
  readonly model: string
  /** URLs of its configuration and statistics. */
  readonly limits: string
  readonly stats: string
}

interface MappedService extends Common {
  readonly series: SeriesNames
}

export type ServiceConfig = TritonService | MappedService

export interface GovernConfig {
  readonly gpu: number | string
  readonly powerCapW?: number | undefined
  readonly intervalMs: number
  readonly services: readonly ServiceConfig[]
}

const url = z.url({ protocol: /^https?$/, error: 'an http(s) URL, such as http://127.0.0.1:8000' })
/** URL of a server. A trailing `/v1` or `/v2`, which clients append, is removed. */
const server = url
  .regex(/^[^?#]*$/, 'an http(s) URL without query')
  .transform((address) => address.replace(/(\/v[12])?\/*$/, ''))
const model = z.string('the name of the model in the server').min(1, 'the name of the model in the server')
const common = {
  name: z.string().regex(/^[\w.:/+-]{1,64}$/, 'at most 64 letters, digits and ._:/+-'),
  objective: z.strictObject({
    ms: z.number('the latency that is promised, ms').positive('milliseconds above 0'),
    attainment: z.number().gt(0.5, 'a share above 0.5').lt(1, 'a share below 1, such as 0.99').default(0.99),
  }),
}
const triton = z.strictObject({ ...common, triton: server, metrics: url.optional(), model })
const ofKind = common.objective.extend({ of: z.enum(['e2e', 'ttft', 'tpot']).default('e2e') })
const vllm = z
  .strictObject({ ...common, vllm: server, model, objective: ofKind })
  .transform(({ vllm: address, model: name, ...service }) => ({
    ...service,
    metrics: `${address}/metrics`,
    series: vllmNames(name, service.objective.of),
  }))
const prometheus = z
  .strictObject({
    ...common,
    prometheus: url,
    series: z.strictObject({
      histogram: z.string('the name of the histogram of latencies, without _bucket').min(1),
      inFlight: z.string().optional(),
      labels: z.record(z.string(), z.string()).optional(),
    }),
  })
  .transform(({ prometheus: metrics, series: { histogram, inFlight, labels }, ...service }) => ({
    ...service,
    metrics,
    series: { whole: histogram, judged: [histogram], running: inFlight, labels },
  }))

/** Adds the URLs of a model. A server of several services is asked once for the statistics of all its models. */
function withUrls<Service extends z.infer<typeof triton>>(service: Service, services: readonly object[]) {
  const users = services.filter((other) => 'triton' in other && other.triton === service.triton)
  const models = `${service.triton}/v2/models`
  const own = `${models}/${encodeURIComponent(service.model)}`
  const metrics = service.metrics ?? Object.assign(new URL('/metrics', service.triton), { port: '8002' }).href
  return { ...service, metrics, limits: `${own}/config`, stats: `${users.length > 1 ? models : own}/stats` }
}

/** Keys of the kinds of service, in the order of the union in the schema. */
const kinds = ['triton', 'vllm', 'prometheus']
const schema: z.ZodType<GovernConfig> = z.strictObject({
  gpu: z.union([z.int().min(0), z.string().min(1)], 'one board: its index, UUID or PCI bus id').default(0),
  powerCapW: z.number().positive('watts above 0').optional(),
  intervalMs: z.int().min(100, 'at least 100').max(2000, 'at most 2000').default(250),
  services: z
    .array(z.union([triton, vllm, prometheus], `one of the keys ${kinds.join(', ')}`))
    .min(1, 'at least one service')
    .refine(
      (services) => new Set(services.map(({ name }) => name)).size === services.length,
      'services of different names',
    )
    .transform((services) => services.map((service) => ('triton' in service ? withUrls(service, services) : service))),
})

/** @throws PctodlError `CONFIG` with the file, the field, its value and what is expected */
export function parseConfig(text: string, file: string): GovernConfig {
  let value: unknown
  try {
    value = parse(text)
    // Throws if an anchor contains itself.
    JSON.stringify(value)
  } catch (error) {
    throw new PctodlError('CONFIG', `${file}: ${reasonOf(error).split('\n')[0]}; write YAML as in the README`)
  }
  const { data, error } = schema.safeParse(value)
  if (data !== undefined) return data
  const at = (path: readonly PropertyKey[]) =>
    path.reduce<unknown>((found, key) => (found as Record<PropertyKey, unknown> | null | undefined)?.[key], value)
  const [outer] = error.issues as [z.core.$ZodIssue]
  // The error of the kind of service whose key is present says more than the error of the union.
  const kind = kinds.findIndex((key) => key in Object(at(outer.path)))
  const inner = outer.code === 'invalid_union' ? outer.errors[kind]?.[0] : undefined
  const issue = inner ?? outer
  const path = [...outer.path, ...(inner?.path ?? [])]
  const place = `${file}: ${path.join('.') || 'the whole'}`
  if (issue.code === 'unrecognized_keys') throw new PctodlError('CONFIG', `${place}: there is no key ${issue.keys[0]}`)
  const shown = (JSON.stringify(at(path)) ?? 'nothing').slice(0, 80)
  const expected = issue.message.replace(/^Invalid input: expected (\w+),.*/, '$1')
  throw new PctodlError('CONFIG', `${place}: got ${shown}, expected ${expected}`)
}

/** @throws PctodlError `CONFIG` */
export function readConfig(file: string): GovernConfig {
  return parseConfig(textOf(file), file)
}

/** @throws PctodlError `NO_FILE`: the system's error for a folder, for example, does not name it */
export function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new PctodlError('NO_FILE', `cannot read ${file}: ${reasonOf(cause)}; name a file that can be read`, { cause })
  }
}
