import { findMigBoard } from '@pctodl/platform'
import { renderPng } from '@pctodl/report/charts'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { formatKubernetes } from '../src/kubernetes/kubernetes.js'
import { formatMigParted } from '../src/kubernetes/mig-parted.js'
import { SegmentFileError } from '../src/map/csv-rows.js'
import {
  boardsOf,
  formatDeploymentMap,
  type MappedGpu,
  mapColumns,
  parseDeploymentMap,
} from '../src/map/deployment-map.js'
import { drawMap } from '../src/map/picture.js'

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
    ['0,0,net,0,4,4,1e9', 'Num proc', /at most 48/],
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
  const configsOf = (key: string) => parse(formatMigParted(boardsOf(gpus, key)))['mig-configs']

  it('gets one configuration for each node, boards of one layout together', () => {
    expect(configsOf('A100-80GB')).toEqual({
      'all-disabled': [{ devices: 'all', 'mig-enabled': false }],
      'pctodl-a100-80gb-node-0': [
        { devices: [0, 1], 'mig-enabled': true, 'mig-devices': { '2g.20gb': 1, '3g.40gb': 1 } },
      ],
      'pctodl-a100-80gb-node-1': [{ devices: [1], 'mig-enabled': true, 'mig-devices': { '7g.80gb': 1 } }],
    })
  })

  it('gets the names of the board', () => {
    expect(configsOf('H200')['pctodl-h200-node-1'][0]['mig-devices']).toEqual({ '7g.141gb': 1 })
  })
})

describe('Kubernetes manifests', () => {
  const options = { image: 'registry/worker:1', command: ['serve', '--model', '{model}'] }
  const documents = parseAllDocuments(formatKubernetes(boardsOf(gpus, 'A100-80GB'), options)).map((document) =>
    document.toJS(),
  )
  const ofKind = (kind: string) => documents.filter((document) => document.kind === kind)

  it('label nodes for the MIG manager and the device plugin', () => {
    const plugin = { 'nvidia.com/device-plugin.config': 'mig-mixed' }
    expect(ofKind('Node').map(({ metadata }) => [metadata.name, metadata.labels])).toEqual(
      [0, 1].map((node) => [
        `a100-80gb-node-${node}`,
        { 'nvidia.com/mig.config': `pctodl-a100-80gb-node-${node}`, ...plugin },
      ]),
    )
    expect(parse(ofKind('ConfigMap')[1].data['mig-mixed'])).toEqual({ version: 'v1', flags: { migStrategy: 'mixed' } })
  })

  it('ask for one MIG device for each instance, where its node is, with a probe of its daemon', () => {
    const kinds = ofKind('Deployment').map(({ spec }) => {
      const [container] = spec.template.spec.containers
      expect(container.livenessProbe.exec.command.at(-1)).toMatch(/nvidia-cuda-mps-control/)
      expect(container.readinessProbe).toBeUndefined()
      const limits = Object.keys(container.resources.limits)
      return [spec.replicas, ...limits, spec.template.spec.nodeSelector['kubernetes.io/hostname']]
    })
    expect(kinds).toEqual([
      [2, 'nvidia.com/mig-2g.20gb', 'a100-80gb-node-0'],
      [1, 'nvidia.com/mig-3g.40gb', 'a100-80gb-node-0'],
      [1, 'nvidia.com/mig-3g.40gb', 'a100-80gb-node-0'],
      [1, 'nvidia.com/mig-7g.80gb', 'a100-80gb-node-1'],
    ])
    expect(ofKind('Service')).toEqual([])
    const wrong = (more: object) => () => formatKubernetes(boardsOf(gpus, 'A100-80GB'), { ...options, ...more })
    expect(wrong({ port: 0 })).toThrow(/port/)
    expect(wrong({ healthPath: '/health' })).toThrow(/healthPath/)
  })

  it('keep models apart whose names Kubernetes cannot tell apart', () => {
    const segments = (['bert_base', 'bert.base', '漢字'] as const).map((model, i) => ({
      ...{ model, sizeGpcs: 1 as const, start: i, batchSize: 1, processes: 1 },
    }))
    const text = formatKubernetes(boardsOf([{ index: 0, segments }], 'A100'), { ...options, port: 80 })
    const services = parseAllDocuments(text)
      .map((document) => document.toJS())
      .filter(({ kind }) => kind === 'Service')
    expect(services.map(({ metadata }) => metadata.name).sort()).toEqual(['bert-base', 'bert-base-2', 'model'])
  })
})

describe('the picture', () => {
  it('is an SVG that can be drawn, with every node and segment', async () => {
    const svg = drawMap(gpus, board)
    expect(svg.match(/<title>/g)).toHaveLength(5)
    expect(svg).toContain('bert &amp; &lt;co&gt;: 3g.40gb at 4, batch 8, 1 processes')
    expect(svg).toContain('>node 1, GPU 1<')
    const png = await renderPng(svg)
    expect(Buffer.from(png.subarray(1, 4)).toString()).toBe('PNG')
  })

  it('counts what it does not draw', () => {
    const many = Array.from({ length: 258 }, (_, index) => ({ ...gpus[0]!, index }))
    expect(drawMap(many, board)).toContain('258 x NVIDIA A100-SXM4-80GB, 2 of them not drawn')
    expect(drawMap(many, board).match(/<title>/g)).toHaveLength(512)
  })
})
