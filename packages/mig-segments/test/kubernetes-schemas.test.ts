import { Deployment } from 'kubernetes-models/apps/v1'
import { DeviceClass, ResourceClaimTemplate } from 'kubernetes-models/resource.k8s.io/v1'
import { ConfigMap, Node, Service } from 'kubernetes-models/v1'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { formatKubernetes } from '../src/kubernetes/kubernetes.js'
import { formatMigParted } from '../src/kubernetes/mig-parted.js'
import { boardsOf, type MappedGpu } from '../src/map/deployment-map.js'

const segment = { model: 'bert_base', batchSize: 8, processes: 2 }
const gpus: MappedGpu[] = [
  {
    index: 0,
    segments: [
      { ...segment, sizeGpcs: 3, start: 4 },
      { ...segment, sizeGpcs: 2, start: 0 },
    ],
  },
  { index: 9, segments: [{ ...segment, sizeGpcs: 2, start: 0 }] },
]
const boards = boardsOf(gpus, 'H100')
const options = { image: 'mine:1', command: ['serve', '{model}'], port: 8080, healthPath: '/health' }
const documentsOf = (text: string) => parseAllDocuments(text).map((document) => document.toJS())

/** Kinds that the manifests may have, with the schemas of Kubernetes' OpenAPI description. */
const models = { ConfigMap, Node, Service, Deployment, DeviceClass, ResourceClaimTemplate } as const

/** What mig-parted's `api/spec/v1` accepts: no field more, and devices of MIG exactly where it is enabled. */
const migParted = z.strictObject({
  version: z.literal('v1'),
  'mig-configs': z.record(
    z.string(),
    z
      .array(
        z.union([
          z.strictObject({
            devices: z.union([z.literal('all'), z.array(z.int().min(0)).min(1)]),
            'mig-enabled': z.literal(true),
            'mig-devices': z.record(z.string().regex(/^\d+g\.\d+gb(\+me)?$/), z.int().min(1)),
          }),
          z.strictObject({
            devices: z.union([z.literal('all'), z.array(z.int().min(0)).min(1)]),
            'mig-enabled': z.literal(false),
          }),
        ]),
      )
      .min(1),
  ),
})

describe.each(['plugin', 'dra'] as const)('manifests with %s', (devices) => {
  const documents = documentsOf(formatKubernetes(boards, { ...options, devices }))

  it('keep the schemas of Kubernetes, which refuse what does not', () => {
    const kinds = documents.map(({ kind }) => kind as keyof typeof models)
    expect(new Set(kinds)).toEqual(
      new Set(
        devices === 'dra'
          ? ['ConfigMap', 'DeviceClass', 'ResourceClaimTemplate', 'Service', 'Node', 'Deployment']
          : ['ConfigMap', 'Service', 'Node', 'Deployment'],
      ),
    )
    for (const document of documents) {
      const Model = models[document.kind as keyof typeof models]
      expect(document.apiVersion).toBe(new Model({} as never).apiVersion)
      expect(() => new Model(document).validate()).not.toThrow()
      expect(() => new Model({ ...document, metadata: { name: 7 } }).validate()).toThrow()
    }
  })

  it('have a configuration that mig-parted reads, all-disabled in it', () => {
    const config = documents.find(({ data }) => data?.['config.yaml'])
    const parted = migParted.parse(parse(config.data['config.yaml']))
    expect(Object.keys(parted['mig-configs'])).toEqual(['all-disabled', 'pctodl-h100-node-0', 'pctodl-h100-node-1'])
  })
})

describe('claims', () => {
  const documents = documentsOf(formatKubernetes(boards, { ...options, devices: 'dra' }))
  const ofKind = (kind: string) => documents.filter((document) => document.kind === kind)

  it('are for one instance of a profile, which the class selects', () => {
    expect(
      ofKind('DeviceClass').map(({ metadata, spec }) => [metadata.name, spec.selectors[0].cel.expression]),
    ).toEqual(
      ['2g.20gb', '3g.40gb'].map((profile) => [
        `pctodl-mig-${profile.replace('.', '-')}`,
        "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig' && " +
          `device.attributes['gpu.nvidia.com'].profile == '${profile}'`,
      ]),
    )
    const classes = ofKind('DeviceClass').map(({ metadata }) => metadata.name)
    for (const { spec } of ofKind('ResourceClaimTemplate')) {
      const [request] = spec.spec.devices.requests
      expect(classes).toContain(request.exactly.deviceClassName)
      expect(request.exactly.count).toBe(1)
    }
  })

  it('stand for nodes: segments that run alike are one Deployment, wherever their instances are', () => {
    const templates = ofKind('ResourceClaimTemplate').map(({ metadata }) => metadata.name)
    const deployments = ofKind('Deployment')
    expect(deployments.map(({ metadata, spec }) => [metadata.name, spec.replicas])).toEqual([
      ['pctodl-h100-0', 1],
      ['pctodl-h100-1', 2],
    ])
    for (const { spec } of deployments) {
      const { resourceClaims, containers, nodeSelector } = spec.template.spec
      expect(nodeSelector).toEqual({ 'pctodl.board': 'H100' })
      expect(containers[0].resources).toEqual({ claims: [{ name: resourceClaims[0].name }] })
      expect(templates).toContain(resourceClaims[0].resourceClaimTemplateName)
    }
    expect(JSON.stringify(documents)).not.toContain('device-plugin')
  })
})

it('mig-parted reads the configuration of a fleet', () => {
  const shared = { profile: '1g.10gb', model: 'net', batchSize: 8, processes: 1 }
  const node = { gpu: 'A100', node: 0 }
  const two = [
    { ...node, index: 0, segments: [{ ...shared, start: 0 }] },
    { ...node, index: 1, segments: [{ ...shared, profile: '7g.40gb', start: 0 }] },
  ]
  const parted = migParted.parse(parse(formatMigParted(two)))
  expect(parted['mig-configs']['pctodl-a100-node-0']).toHaveLength(2)
})
