import { stringify } from 'yaml'
import { fleetConfigName, formatFleetMigParted, type MappedBoard } from '../map/fleet-map.js'
import { quoted } from '../node/render-actions.js'
import { workerCommand } from '../worker-command.js'
import {
  assertPort,
  CLAIM,
  claimOf,
  configMap,
  deviceDocuments,
  devicePluginConfig,
  type KubernetesOptions,
  labelledNode,
  livenessProbe,
  MIG_CONFIG_MAP,
  startDaemon,
  uniqueDnsNames,
} from './kubernetes.js'

export interface FleetKubernetesOptions extends Omit<KubernetesOptions, 'gpusPerNode' | 'nodeNames'> {
  /** Kubernetes names of the nodes by those of the map, such as `h100-node-0`. Default: these. */
  readonly nodeNames?: Readonly<Record<string, string>>
}

/** The models of one instance, and how many instances have just these. */
interface PodKind {
  readonly profile: string
  readonly members: MappedBoard['segments']
  count: number
}

/**
 * Manifests for a fleet, as `formatKubernetes` writes them for boards of one type. A pod is one instance: models that share it
 * run in its one container at one MPS daemon, the first at `port`, the others at the ports after it (`{port}` in the command), each behind its
 * model's Service, and the pod is ready when all are. Profiles of different boards may have one name, so with `dra` nodes are labelled with
 * their type of board, and a Deployment is for the instances of one type wherever they are.
 *
 * @returns one YAML text with several documents
 * @throws InvalidInputError for a port or path that is none
 */
export function formatFleetKubernetes(boards: readonly MappedBoard[], options: FleetKubernetesOptions): string {
  const { operatorNamespace = 'gpu-operator', namespace = 'default', nodeNames = {}, port } = options
  const dra = options.devices === 'dra'
  assertPort(options, 4)
  const dnsNames = uniqueDnsNames(boards)
  const models = [...dnsNames.keys()]
  const documents: unknown[] = [
    configMap(MIG_CONFIG_MAP, operatorNamespace, { 'config.yaml': formatFleetMigParted(boards) }),
  ]
  if (dra) documents.push(...profilesOf(boards).flatMap((profile) => deviceDocuments(profile, namespace)))
  else documents.push(devicePluginConfig(operatorNamespace))
  if (port !== undefined) {
    models.forEach((model, m) => {
      documents.push(service(dnsNames.get(model)!, namespace, port, portName(m)))
    })
  }
  for (const [node, ofNode] of nodesOf(boards)) {
    const hostname = nodeNames[node] ?? node
    const { gpu, node: index } = ofNode[0]!
    const layout = fleetConfigName(gpu, index)
    documents.push(dra ? labelledNode(hostname, layout, false, boardLabel(gpu)) : labelledNode(hostname, layout, true))
    if (dra) continue
    for (const [k, kind] of kindsOf(ofNode).entries()) {
      const place = { 'kubernetes.io/hostname': hostname }
      documents.push(deployment(kind, `${node}-${k}`, place, dnsNames, models, options))
    }
  }
  if (dra) {
    for (const gpu of new Set(boards.map((board) => board.gpu))) {
      const ofType = boards.filter((board) => board.gpu === gpu)
      for (const [k, kind] of kindsOf(ofType).entries()) {
        documents.push(deployment(kind, `${gpu.toLowerCase()}-${k}`, boardLabel(gpu), dnsNames, models, options))
      }
    }
  }
  return documents
    .map((document) => `---\n${stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 })}`)
    .join('')
}

/** What says of a node which boards it has. */
function boardLabel(gpu: string): Record<string, string> {
  return { 'pctodl.board': gpu }
}

function profilesOf(boards: readonly MappedBoard[]): string[] {
  return [...new Set(boards.flatMap(({ segments }) => segments.map(({ profile }) => profile)))].sort()
}

function nodesOf(boards: readonly MappedBoard[]): Map<string, MappedBoard[]> {
  const nodes = new Map<string, MappedBoard[]>()
  for (const board of boards) {
    const name = `${board.gpu.toLowerCase()}-node-${board.node}`
    nodes.set(name, [...(nodes.get(name) ?? []), board])
  }
  return nodes
}

function kindsOf(boards: readonly MappedBoard[]): PodKind[] {
  const kinds = new Map<string, PodKind>()
  for (const { segments } of boards) {
    for (const start of new Set(segments.map((segment) => segment.start))) {
      const members = segments.filter((segment) => segment.start === start)
      const { profile } = members[0]!
      const key = [profile, ...members.map((each) => [each.model, each.batchSize, each.processes])].join()
      const kind = kinds.get(key) ?? { profile, members, count: 0 }
      kind.count++
      kinds.set(key, kind)
    }
  }
  return [...kinds.values()]
}

function deployment(
  { profile, members, count }: PodKind,
  place: string,
  nodeSelector: Record<string, string>,
  dnsNames: ReadonlyMap<string, string>,
  models: readonly string[],
  { image, command, namespace = 'default', devices, port, healthPath }: FleetKubernetesOptions,
) {
  const name = `pctodl-${place}`
  const labels = {
    'pctodl.segment': name,
    ...Object.fromEntries(members.map(({ model }) => [`serves.pctodl/${dnsNames.get(model)}`, 'true'])),
  }
  const ports = members.map((_, k) => (port === undefined ? undefined : port + k))
  const workers = members.map((member, k) => {
    const words = workerCommand(command, { ...member, port: ports[k] })
      .map(quoted)
      .join(' ')
    return `for ((i = 0; i < ${member.processes}; i++)); do ${words} & done\n`
  })
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas: count,
      // There is no spare instance to start a successor on: a pod ends before its successor starts.
      strategy: { type: 'Recreate' },
      selector: { matchLabels: { 'pctodl.segment': name } },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector,
          ...(devices === 'dra' && { resourceClaims: [claimOf(profile)] }),
          containers: [
            {
              name: 'instance',
              image,
              command: ['/bin/bash', '-c', `${startDaemon}${workers.join('')}wait -n\n`],
              ...(port !== undefined && {
                ports: members.map(({ model }, k) => ({
                  name: portName(models.indexOf(model)),
                  containerPort: ports[k],
                })),
              }),
              livenessProbe,
              ...(port !== undefined && readiness(ports as number[], healthPath)),
              resources:
                devices === 'dra' ? { claims: [{ name: CLAIM }] } : { limits: { [`nvidia.com/mig-${profile}`]: 1 } },
            },
          ],
        },
      },
    },
  }
}

/** Name of a model's port, the same in all pods that serve it. */
function portName(model: number): string {
  return `model-${model}`
}

/** Ready when each port accepts, or answers 200: one probe for all of them, by bash itself. */
function readiness(ports: readonly number[], healthPath: string | undefined) {
  const asks = ports.map((port) => {
    const opens = `exec 3<> /dev/tcp/127.0.0.1/${port}`
    if (healthPath === undefined) return opens
    const request = quoted(`GET ${healthPath} HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n`)
    return `${opens} && printf '%b' ${request} >&3 && read -r _ code _ <&3 && [[ $code == 200 ]]`
  })
  const exec = { command: ['/bin/bash', '-c', asks.join(' && ')] }
  return {
    startupProbe: { exec, periodSeconds: 5, failureThreshold: 120 },
    readinessProbe: { exec, periodSeconds: 5 },
  }
}

function service(dnsName: string, namespace: string, port: number, targetPort: string) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: /^[a-z]/.test(dnsName) ? dnsName : `model-${dnsName}`, namespace },
    spec: { selector: { [`serves.pctodl/${dnsName}`]: 'true' }, ports: [{ name: 'requests', port, targetPort }] },
  }
}
