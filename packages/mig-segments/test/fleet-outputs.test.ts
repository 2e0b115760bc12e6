import { Deployment } from 'kubernetes-models/apps/v1'
import { DeviceClass, ResourceClaimTemplate } from 'kubernetes-models/resource.k8s.io/v1'
import { ConfigMap, Node, Service } from 'kubernetes-models/v1'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { formatKubernetes } from '../src/kubernetes/kubernetes.js'
import { formatMigParted } from '../src/kubernetes/mig-parted.js'
import { formatFleetMap, type MappedBoard, parseFleetMap } from '../src/map/fleet-map.js'
import { deployActions, renderAction, segmentsOfNode } from '../src/node/deploy-actions.js'
import type { DeployedSegment, TargetSegment } from '../src/node/deployment-state.js'

const shared = { profile: '2g.20gb', start: 0, processes: 1 }
const boards: MappedBoard[] = [
  {
    ...{ gpu: 'H100', node: 0, index: 1, smClockMhz: 1200 },
    segments: [
      { ...shared, model: 'net_a', batchSize: 8 },
      { ...shared, model: 'net_b', batchSize: 4 },
      { profile: '1g.20gb', start: 4, processes: 2, model: 'net_a', batchSize: 16 },
    ],
  },
  { gpu: 'A30', node: 0, index: 0, segments: [{ ...shared, profile: '2g.12gb', model: 'net_b', batchSize: 8 }] },
]

describe('the map of a fleet', () => {
  it('is read as it was written', () => {
    expect(parseFleetMap(formatFleetMap(boards), 'fleet.csv')).toEqual(boards)
    const plain = [boards[1]!]
    expect(formatFleetMap(plain)).not.toContain('Clock')
    expect(parseFleetMap(formatFleetMap(plain), 'fleet.csv')).toEqual(plain)
  })

  it('says where it is wrong', () => {
    const text = formatFleetMap(boards)
    const wrong = (from: string | RegExp, to: string) => () => parseFleetMap(text.replace(from, to), 'fleet.csv')
    expect(wrong('Num proc', 'Procs')).toThrow(/fleet.csv, row 1: got 'Board,.*expected the header/)
    expect(wrong('A30,0,0', 'T4,0,0')).toThrow(/row 5, column Board: got 'T4', expected a board with MIG/)
    expect(wrong('2g.12gb', '3g.20gb')).toThrow(/row 5, column Profile: got '3g.20gb', expected a profile of A30/)
    expect(wrong('1g.20gb,4', '1g.20gb,1')).toThrow(/row 4, column Placement: got '1', expected a slot that is free/)
    expect(wrong('1g.20gb,4', '1g.20gb,0')).toThrow(/row 4, column Placement: .*2g.20gb begins there/)
    expect(wrong('net_b,4,1', 'net_a,4,1')).toThrow(/row 3, column Model: got 'net_a', expected each model once/)
    expect(wrong('net_b,4,1,1200', 'net_b,4,1,1400')).toThrow(/row 3, column Clock: got '1400', expected one clock/)
    for (const count of ['0', '49']) {
      expect(wrong('net_b,4,1', `net_b,4,${count}`)).toThrow(`row 3, column Num proc: got '${count}'`)
    }
  })

  it('counts a shared instance once for mig-parted', () => {
    const config = parse(formatMigParted(boards))['mig-configs']['pctodl-h100-node-0']
    expect(config[0]['mig-devices']).toEqual({ '2g.20gb': 1, '1g.20gb': 1 })
  })
})

describe('a deployment of a fleet', () => {
  const target = segmentsOfNode(boards, 'H100', 0)
  const gpus = [0, 1].map((index) => ({ index, uuid: `GPU-${index}`, name: 'H100', migEnabled: true }))
  const well = { workersRun: () => true, mpsRuns: () => true }
  const standing = (segment: TargetSegment): DeployedSegment => ({
    ...segment,
    ...{ instanceId: segment.start, uuid: `MIG-${segment.start}`, mpsDirectory: `/place/${segment.start}` },
    workers: [{ pid: 10 + segment.start + segment.batchSize, startTime: 1 }],
  })
  const deployed = target.map(standing)
  const instances = [
    { gpu: 1, instanceId: 0, profile: '2g.20gb', start: 0 },
    { gpu: 1, instanceId: 4, profile: '1g.20gb', start: 4 },
  ]

  it('makes one instance and one daemon for models that share it, at the clock of the board', () => {
    const actions = deployActions(target, [], { gpus, instances: [] }, true, well)
    const lines = actions.flatMap((action) => renderAction(action, '/place', ['serve', '{model}', '{batch}']))
    expect(lines[0]).toBe('nvidia-smi -i 1 -lgc 1200,1200')
    expect(lines.filter((line) => line.includes('-cgi'))).toEqual([
      'nvidia-smi mig -i 1 -cgi 2g.20gb:0 -C',
      'nvidia-smi mig -i 1 -cgi 1g.20gb:4 -C',
    ])
    expect(lines.filter((line) => line.endsWith('nvidia-cuda-mps-control -d'))).toHaveLength(2)
    expect(lines.filter((line) => / serve net_[ab] (4|8|16) &/.test(line))).toHaveLength(3)
  })

  it('leaves alone what runs, changes one model beside another, and gives the clock back', () => {
    const act = (next: readonly TargetSegment[]) =>
      deployActions(next, deployed, { gpus, instances }, true, well).map((action) =>
        'segment' in action ? `${action.kind} ${action.segment.model} ${action.segment.batchSize}` : action.kind,
      )
    expect(act(target)).toEqual([])
    const other = target.map((segment) => (segment.batchSize === 4 ? { ...segment, model: 'net_c' } : segment))
    expect(act(other)).toEqual(['stop-workers net_b 4', 'start-workers net_c 4'])
    expect(act(target.map((segment) => ({ ...segment, smClockMhz: 1400 })))).toEqual(['lock-clock'])
    // A reboot takes instances and clock lock away, and may leave the state file.
    const rebooted = deployActions(target, deployed, { gpus, instances: [] }, true, well).map(({ kind }) => kind)
    expect(rebooted).toContain('lock-clock')
    expect(act([])).toEqual([
      ...['stop-workers net_a 8', 'stop-workers net_b 4', 'stop-workers net_a 16', 'reset-clock'],
      ...['stop-mps net_a 8', 'stop-mps net_a 16', 'destroy-instance', 'destroy-instance'],
    ])
    const plain = target.map((segment) => ({
      ...segment,
      profile: segment.profile === '1g.20gb' ? '1g.10gb' : segment.profile,
    }))
    expect(act(plain)).toContain('create-instance net_a 16')
  })
})

describe('the manifests of a fleet', () => {
  const options = { image: 'mine:1', command: ['serve', '{model}', "it's", '--port={port}'], port: 8080 }
  const documentsOf = (more: object = {}) =>
    parseAllDocuments(formatKubernetes(boards, { ...options, ...more })).map((document) => document.toJS())
  const documents = documentsOf({ nodeNames: { 'h100-node-0': 'gpu17' } })
  const models = { ConfigMap, Node, Service, Deployment } as const

  it('keep the schemas of Kubernetes', () => {
    for (const document of documents) {
      const Model = models[document.kind as keyof typeof models]
      expect(document.apiVersion).toBe(new Model({} as never).apiVersion)
      expect(() => new Model(document).validate()).not.toThrow()
    }
    expect(documents.flatMap(({ kind, metadata }) => (kind === 'Node' ? [metadata.name] : []))).toEqual([
      'gpu17',
      'a30-node-0',
    ])
  })

  it('have one pod for models that share an instance, a port for each behind its own Service', () => {
    const deployments = documents.filter(({ kind }) => kind === 'Deployment')
    const pods = deployments.map(({ spec }) => spec.template)
    const [together, alone, small] = pods
    const [container] = together.spec.containers
    expect(container.resources).toEqual({ limits: { 'nvidia.com/mig-2g.20gb': 1 } })
    expect(container.command[2]).toContain(`do serve net_a 'it'\\''s' --port=8080 & done`)
    expect(container.command[2]).toContain('do serve net_b ')
    expect(container.command[2]).toContain('--port=8081 & done')
    expect(container.command[2].match(/nvidia-cuda-mps-control -d/g)).toHaveLength(1)
    expect(alone.spec.containers[0].ports).toEqual([{ name: 'model-0', containerPort: 8080 }])
    for (const { spec } of documents.filter(({ kind }) => kind === 'Service')) {
      const served = pods.filter(({ metadata }) =>
        Object.entries(spec.selector).every(([key, value]) => metadata.labels[key] === value),
      )
      expect(served).toHaveLength(2)
      for (const pod of served) {
        const names = pod.spec.containers[0].ports.map(({ name }: { name: string }) => name)
        expect(names).toContain(spec.ports[0].targetPort)
      }
    }
    expect(small.spec.nodeSelector).toEqual({ 'kubernetes.io/hostname': 'a30-node-0' })
    expect(container.readinessProbe.exec.command[2]).toBe(
      'exec 3<> /dev/tcp/127.0.0.1/8080 && exec 3<> /dev/tcp/127.0.0.1/8081',
    )
    expect(JSON.stringify(documentsOf({ healthPath: '/well' }))).toContain('GET /well HTTP/1.0')
    expect(() => documentsOf({ port: 65_533 })).toThrow(/port: got 65533/)
  })

  it('claim instances of a profile on boards of their type, wherever one is free', () => {
    const claiming = documentsOf({ devices: 'dra' })
    const ofKind = (kind: string) => claiming.filter((document) => document.kind === kind)
    const schemas = { ...models, DeviceClass, ResourceClaimTemplate }
    for (const document of claiming) {
      expect(() => new schemas[document.kind as keyof typeof schemas](document).validate()).not.toThrow()
    }
    const templates = ofKind('ResourceClaimTemplate').map(({ metadata }) => metadata.name)
    const classes = ofKind('DeviceClass').map(({ metadata }) => metadata.name)
    expect(classes).toEqual(templates)
    const labels = ofKind('Node').map(({ metadata }) => metadata.labels)
    let pods = 0
    for (const { spec } of ofKind('Deployment')) {
      const { nodeSelector, resourceClaims, containers } = spec.template.spec
      expect(labels.map((each) => each['pctodl.board'])).toContain(nodeSelector['pctodl.board'])
      expect(templates).toContain(resourceClaims[0].resourceClaimTemplateName)
      expect(containers[0].resources).toEqual({ claims: [{ name: resourceClaims[0].name }] })
      pods += spec.replicas
    }
    const instances = boards.flatMap(({ segments }) => [...new Set(segments.map(({ start }) => start))])
    expect(pods).toBe(instances.length)
    expect(JSON.stringify(claiming)).not.toContain('device-plugin')
  })
})
