import { renderPng } from '@pctodl/charts'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import {
  drawMap,
  findMigBoard,
  formatDeploymentMap,
  formatKubernetes,
  formatMigParted,
  type MappedGpu,
  mapColumns,
  migPartedConfig,
  parseDeploymentMap,
  SegmentFileError,
} from '../src/index.js'

const board = findMigBoard('A100-80GB')
const gpus: MappedGpu[] = [
  {
    index: 0,
    segments: [
      { model: 'resnet50', sizeGpcs: 2, start: 0, batchSize: 16, processes: 2 },
      { model: 'bert & <co>', sizeGpcs: 3, start: 4, batchSize: 8, processes: 1 },
    ],
  },
  {
    index: 1,
    segments: [
      { model: 'resnet50', sizeGpcs: 2, start: 0, batchSize: 16, processes: 2 },
      { model: 'resnet50', sizeGpcs: 3, start: 4, batchSize: 32, processes: 3 },
    ],
  },
  { index: 9, segments: [{ model: 'resnet50', sizeGpcs: 7, start: 0, batchSize: 64, processes: 1 }] },
]

describe('a deployment map', () => {
  it('comes back as it was written', () => {
    for (const gpusPerNode of [1, 4, 8]) {
      expect(parseDeploymentMap(formatDeploymentMap(gpus, gpusPerNode), 'map.csv', gpusPerNode)).toEqual(gpus)
    }
  })

  const read = (...rows: string[]) => parseDeploymentMap([mapColumns.join(), ...rows].join('\n'), 'map.csv')
  it.each([
    ['0,0,net,1,2,4,1', 'Placement', /cannot start at slice 1/],
    ['0,0,net,0,4,4,1\n0,0,net,1,1,4,1', 'Placement', /1@1 overlaps 4@0/],
    ['0,8,net,0,4,4,1', 'Num GPU', /at most 7/],
    ['0,0,net,0,5,4,1', 'Instance size', /a size of 1, 2, 3, 4, 7/],
    ['0,0,,0,4,4,1', 'Model', /an empty cell/],
    ['0,0,net,0,4,0,1', 'Batch size', /at least 1/],
    ['0,0,net,0,4,4', null, /6 cells/],
  ])('refuses %j', (rows, column, message) => {
    expect(() => read(rows)).toThrow(SegmentFileError)
    expect(() => read(rows)).toThrow(expect.objectContaining({ column, message: expect.stringMatching(message) }))
  })

  it('needs its header', () => {
    expect(() => parseDeploymentMap('a,b', 'map.csv')).toThrow(/the header Num instance/)
  })
})

describe('mig-parted', () => {
  it('gets one configuration for each node, boards of one layout together', () => {
    const config = migPartedConfig(gpus, board)
    expect(parse(formatMigParted(config))).toEqual({
      version: 'v1',
      'mig-configs': {
        'all-disabled': [{ devices: 'all', 'mig-enabled': false }],
        'pctodl-node-0': [{ devices: [0, 1], 'mig-enabled': true, 'mig-devices': { '2g.20gb': 1, '3g.40gb': 1 } }],
        'pctodl-node-1': [{ devices: [1], 'mig-enabled': true, 'mig-devices': { '7g.80gb': 1 } }],
      },
    })
  })

  it('gets the names of the board', () => {
    const { 'mig-configs': configs } = migPartedConfig(gpus, findMigBoard('H200'))
    expect(configs['pctodl-node-1']![0]!['mig-devices']).toEqual({ '7g.141gb': 1 })
  })
})

describe('Kubernetes manifests', () => {
  const options = {
    image: 'registry/worker:1',
    command: ['serve', '--model', '{model}', '--batch-size', '{batch}'],
  }
  const documents = parseAllDocuments(formatKubernetes(gpus, board, options)).map((document) => document.toJS())
  const ofKind = (kind: string) => documents.filter((document) => document.kind === kind)

  it('label nodes for the MIG manager and the device plugin', () => {
    expect(ofKind('Node').map(({ metadata }) => [metadata.name, metadata.labels])).toEqual([
      ['gpu-node-0', { 'nvidia.com/mig.config': 'pctodl-node-0', 'nvidia.com/device-plugin.config': 'mig-mixed' }],
      ['gpu-node-1', { 'nvidia.com/mig.config': 'pctodl-node-1', 'nvidia.com/device-plugin.config': 'mig-mixed' }],
    ])
    const [mig, plugin] = ofKind('ConfigMap')
    expect(parse(mig.data['config.yaml'])).toEqual(migPartedConfig(gpus, board))
    expect(parse(plugin.data['mig-mixed'])).toEqual({ version: 'v1', flags: { migStrategy: 'mixed' } })
  })

  it('ask for one MIG device for each segment, where its node is', () => {
    const deployments = ofKind('Deployment')
    const kinds = deployments.map(({ metadata, spec }) => {
      const [container] = spec.template.spec.containers
      return [metadata.name, spec.replicas, container.resources.limits, spec.template.spec.nodeSelector]
    })
    const on = (node: number) => ({ 'kubernetes.io/hostname': `gpu-node-${node}` })
    expect(kinds).toEqual([
      ['resnet50-2g-b16-p2-node0', 2, { 'nvidia.com/mig-2g.20gb': 1 }, on(0)],
      ['bert-co-3g-b8-p1-node0', 1, { 'nvidia.com/mig-3g.40gb': 1 }, on(0)],
      ['resnet50-3g-b32-p3-node0', 1, { 'nvidia.com/mig-3g.40gb': 1 }, on(0)],
      ['resnet50-7g-b64-p1-node1', 1, { 'nvidia.com/mig-7g.80gb': 1 }, on(1)],
    ])
    const [container] = deployments[0].spec.template.spec.containers
    expect(container).toMatchObject({
      image: 'registry/worker:1',
      args: ['serve', '--model', 'resnet50', '--batch-size', '16'],
      env: [{ name: 'PROCESSES', value: '2' }],
    })
  })

  it('give each model a Service, and probes that ask workers and daemon', () => {
    const probed = parseAllDocuments(
      formatKubernetes(gpus, board, { ...options, port: 8080, healthPath: '/health' }),
    ).map((document) => document.toJS())
    const services = probed.filter(({ kind }) => kind === 'Service')
    expect(services.map(({ metadata }) => metadata.name).sort()).toEqual(['bert-co', 'resnet50'])
    const deployments = probed.filter(({ kind }) => kind === 'Deployment')
    for (const { spec } of services) {
      const behind = deployments.filter(({ spec: { template } }) =>
        Object.entries(spec.selector).every(([key, value]) => template.metadata.labels[key] === value),
      )
      expect(behind.length).toBeGreaterThan(0)
      for (const deployment of behind) {
        const [container] = deployment.spec.template.spec.containers
        expect(container.ports).toEqual([{ name: spec.ports[0].targetPort, containerPort: 8080 }])
        expect(container.readinessProbe.httpGet).toEqual({ path: '/health', port: 'requests' })
        expect(container.startupProbe.failureThreshold).toBeGreaterThan(60)
        expect(container.livenessProbe.exec.command.at(-1)).toMatch(/nvidia-cuda-mps-control/)
      }
    }
    expect(ofKind('Service')).toEqual([])
    const [container] = ofKind('Deployment')[0].spec.template.spec.containers
    expect(container.readinessProbe).toBeUndefined()
    expect(container.livenessProbe).toBeDefined()
    expect(() => formatKubernetes(gpus, board, { ...options, port: 0 })).toThrow(/port/)
    expect(() => formatKubernetes(gpus, board, { ...options, healthPath: '/health' })).toThrow(/healthPath/)
  })

  it('can take every instance away again', () => {
    expect(migPartedConfig(gpus, board)['mig-configs']['all-disabled']).toEqual([
      { devices: 'all', 'mig-enabled': false },
    ])
  })

  it('keep models apart whose names Kubernetes cannot tell apart', () => {
    const segments = (['bert_base', 'bert.base', '漢字'] as const).map((model, i) => ({
      model,
      sizeGpcs: 1 as const,
      start: i,
      batchSize: 1,
      processes: 1,
    }))
    const text = formatKubernetes([{ index: 0, segments }], board, options)
    const names = [...text.matchAll(/^ {2}name: (\S+-node0)$/gm)].map(([, name]) => name)
    expect(names).toEqual(['bert-base-2-1g-b1-p1-node0', 'bert-base-1g-b1-p1-node0', 'model-1g-b1-p1-node0'])
  })

  it('refuse a node without a name', () => {
    expect(() => formatKubernetes(gpus, board, { ...options, nodeNames: ['first'] })).toThrow(/a name for node 1/)
  })
})

describe('the picture', () => {
  it('is an SVG that can be drawn, with every node and segment', async () => {
    const svg = drawMap(gpus, board)
    expect(svg.match(/<g><title>/g)).toHaveLength(5)
    expect(svg).toContain('bert &amp; &lt;co&gt;: 3g.40gb at 4, batch 8, 1 processes')
    expect(svg).toContain('>node 1<')
    const png = await renderPng(svg)
    expect(Buffer.from(png.subarray(1, 4)).toString()).toBe('PNG')
  })

  it('counts what it does not draw', () => {
    expect(drawMap(gpus, board, { maxGpus: 1 })).toContain('and 2 GPUs more')
  })
})
