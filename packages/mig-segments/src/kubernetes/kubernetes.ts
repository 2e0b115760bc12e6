import { groupBy } from '@pctodl/platform'
import { stringify } from 'yaml'
import { check } from '../check.js'
import { instancesOf, type MappedBoard, type MappedInstance } from '../map/fleet-map.js'
import { quoted, workerCommand } from '../worker-command.js'
import { formatMigParted, migConfigName, nodeName } from './mig-parted.js'

export interface KubernetesOptions {
  /** Kubernetes' names of nodes, by their names in the map, such as `h100-node-0`. Default: the map's names. */
  readonly nodeNames?: Readonly<Record<string, string>>
  /** Image of the workers. It must have bash; NVIDIA's container toolkit adds the driver's MPS programs. */
  readonly image: string
  /** Command of one worker. `{model}`, `{batch}`, `{processes}` and `{port}` in it are replaced. */
  readonly command: readonly string[]
  /** Namespace of the workers. Default `default`. */
  readonly namespace?: string
  /** Namespace of the GPU operator. Default `gpu-operator`. */
  readonly operatorNamespace?: string
  /**
   * How pods get instances. `plugin` (default): by NVIDIA's device plugin; each Deployment is bound to its node. `dra`:
   * by dynamic resource allocation (Kubernetes 1.34) with NVIDIA's driver, which finds a node with a free instance.
   */
  readonly devices?: 'plugin' | 'dra'
  /** TCP port of a pod's workers. With it, each model gets a Service; a pod is ready once it accepts connections. */
  readonly port?: number | undefined
  /** Path that answers a GET on `port` with 200 while the workers are healthy. Default: connecting is enough. */
  readonly healthPath?: string | undefined
}

/** Key of the device plugin's configuration, which node labels name. */
const DEVICE_PLUGIN_CONFIG = 'mig-mixed'

/** Starts the pod's own MPS daemon, because the device plugin cannot share MIG devices by MPS. */
const startDaemon = `set -eu
export CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps CUDA_MPS_LOG_DIRECTORY=/tmp/nvidia-mps-log
nvidia-cuda-mps-control -d
trap 'kill $(jobs -p) 2>/dev/null || true; echo quit | nvidia-cuda-mps-control' EXIT
trap 'exit 143' TERM
`

/** Maximum number of models in one instance, each of which has its own port. */
const MAX_MEMBERS = 4

/**
 * Returns the manifests for a cluster with NVIDIA's GPU operator:
 *
 * - the MIG layouts of all nodes for the MIG manager, and the node labels that select them
 * - the device plugin's configuration or, with `dra`, a DeviceClass and a ResourceClaimTemplate for each MIG profile
 * - with `port`, a Service for each model
 * - a Deployment with probes for each kind of instance on each node or, with `dra`, on each type of board
 *
 * Each pod has one instance. Models that share it run in one container with one MPS daemon, on consecutive ports.
 *
 * @returns one YAML text with several documents
 * @throws InvalidInputError for an invalid port or path
 */
export function formatKubernetes(boards: readonly MappedBoard[], options: KubernetesOptions): string {
  const { operatorNamespace = 'gpu-operator', namespace = 'default', nodeNames = {}, port, healthPath = '/' } = options
  const highestPort = 65_536 - MAX_MEMBERS
  const isPort = port === undefined || (Number.isInteger(port) && port >= 1 && port <= highestPort)
  check(isPort, 'port', port, `a TCP port from 1 to ${highestPort}`)
  const isPath = healthPath.startsWith('/') && (port !== undefined || options.healthPath === undefined)
  check(isPath, 'healthPath', healthPath, 'a path that begins with /, beside a port')
  const dra = options.devices === 'dra'
  const segments = boards.flatMap((board) => board.segments)
  const dnsNames = uniqueDnsNames(segments.map(({ model }) => model))
  const configMap = (name: string, data: Record<string, string>) =>
    manifest('v1', 'ConfigMap', { name, namespace: operatorNamespace }, { data })
  const documents = [configMap('pctodl-mig-parted-config', { 'config.yaml': formatMigParted(boards) })]
  if (dra) {
    const profiles = [...new Set(segments.map(({ profile }) => profile))].sort()
    documents.push(...profiles.flatMap((profile) => deviceDocuments(profile, namespace)))
  } else {
    const mixed = stringify({ version: 'v1', flags: { migStrategy: 'mixed' } })
    documents.push(configMap('pctodl-device-plugin-config', { [DEVICE_PLUGIN_CONFIG]: mixed }))
  }
  if (port !== undefined) {
    for (const { dnsName, portName } of dnsNames.values()) {
      const selector = { [`serves.pctodl/${dnsName}`]: 'true' }
      const spec = { selector, ports: [{ name: 'requests', port, targetPort: portName }] }
      const name = /^[a-z]/.test(dnsName) ? dnsName : `model-${dnsName}`
      documents.push(manifest('v1', 'Service', { name, namespace }, { spec }))
    }
  }
  for (const [node, [board]] of groupBy(boards, ({ gpu, node }) => nodeName(gpu, node))) {
    const own = dra ? boardLabel(board!.gpu) : { 'nvidia.com/device-plugin.config': DEVICE_PLUGIN_CONFIG }
    const labels = { 'nvidia.com/mig.config': migConfigName(board!.gpu, board!.node), ...own }
    documents.push(manifest('v1', 'Node', { name: nodeNames[node] ?? node, labels }, {}))
  }
  // Pods are bound to a node or, with `dra`, to all nodes with one type of board.
  for (const [place, there] of groupBy(boards, ({ gpu, node }) => (dra ? gpu.toLowerCase() : nodeName(gpu, node)))) {
    const selector = dra ? boardLabel(there[0]!.gpu) : { 'kubernetes.io/hostname': nodeNames[place] ?? place }
    const kinds = groupBy(
      there.flatMap((board) => instancesOf(board.segments)),
      ({ members }) => members.map((each) => [each.profile, each.model, each.batchSize, each.processes]).join(),
    )
    for (const [k, [instance, ...more]] of [...kinds.values()].entries()) {
      documents.push(deployment(instance!, 1 + more.length, `pctodl-${place}-${k}`, selector, dnsNames, options))
    }
  }
  const format = (document: object) => stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 })
  return documents.map((document) => `---\n${format(document)}`).join('')
}

function manifest(apiVersion: string, kind: string, metadata: object, content: object): object {
  return { apiVersion, kind, metadata, ...content }
}

/** Label of a node for the type of its boards: different boards may have profiles of the same name. */
function boardLabel(gpu: string): Record<string, string> {
  return { 'pctodl.board': gpu }
}

/** A Deployment of `count` pods, each of which has an instance of this kind. */
function deployment(
  { profile, members }: MappedInstance,
  count: number,
  name: string,
  nodeSelector: Record<string, string>,
  dnsNames: DnsNames,
  { image, command, namespace = 'default', devices, port, healthPath }: KubernetesOptions,
): object {
  const portOf = (k: number) => (port === undefined ? undefined : port + k)
  const serves = members.map(({ model }) => [`serves.pctodl/${dnsNames.get(model)!.dnsName}`, 'true'])
  const labels = { 'pctodl.segment': name, ...Object.fromEntries(serves) }
  const workers = members.map((member, k) => {
    const words = workerCommand(command, member, portOf(k)).map(quoted)
    return `for ((i = 0; i < ${member.processes}; i++)); do ${words.join(' ')} & done\n`
  })
  const ports = members.map(({ model }, k) => ({ name: dnsNames.get(model)!.portName, containerPort: portOf(k)! }))
  const claim = { name: CLAIM, resourceClaimTemplateName: deviceName(profile) }
  const container = {
    name: 'instance',
    image,
    command: ['/bin/bash', '-c', `${startDaemon}${workers.join('')}wait -n\n`],
    ...(port !== undefined && { ports }),
    livenessProbe,
    ...(port !== undefined && readiness(ports, healthPath)),
    resources: devices === 'dra' ? { claims: [{ name: CLAIM }] } : { limits: { [`nvidia.com/mig-${profile}`]: 1 } },
  }
  const pod = { nodeSelector, ...(devices === 'dra' && { resourceClaims: [claim] }), containers: [container] }
  const spec = {
    replicas: count,
    // There is no spare instance, so a pod must end before its successor can start.
    strategy: { type: 'Recreate' },
    selector: { matchLabels: { 'pctodl.segment': name } },
    template: { metadata: { labels }, spec: pod },
  }
  return manifest('apps/v1', 'Deployment', { name, namespace, labels }, { spec })
}

/** Probes that succeed if every port accepts connections, or answers 200. They run in bash. */
function readiness(ports: readonly { readonly containerPort: number }[], healthPath: string | undefined): object {
  const asks = ports.map(({ containerPort }) => {
    const opens = `exec 3<> /dev/tcp/127.0.0.1/${containerPort}`
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

/** Name of a pod's claim to its instance. */
const CLAIM = 'instance'

/** Name of a profile's device class and claims. Such names may not contain dots. */
function deviceName(profile: string): string {
  return `pctodl-mig-${profile.replaceAll('.', '-')}`
}

/** The device class for instances of one profile, and the template of a pod's claim to one of them. */
function deviceDocuments(profile: string, namespace: string): object[] {
  const name = deviceName(profile)
  const attribute = "device.attributes['gpu.nvidia.com']"
  const expression = `device.driver == 'gpu.nvidia.com' && ${attribute}.type == 'mig' && ${attribute}.profile == '${profile}'`
  const exactly = { deviceClassName: name, allocationMode: 'ExactCount', count: 1 }
  const template = { spec: { devices: { requests: [{ name: CLAIM, exactly }] } } }
  const version = 'resource.k8s.io/v1'
  return [
    manifest(version, 'DeviceClass', { name }, { spec: { selectors: [{ cel: { expression } }] } }),
    manifest(version, 'ResourceClaimTemplate', { name, namespace }, { spec: template }),
  ]
}

/** Probe that checks whether the MPS daemon of a pod answers. */
const askDaemon = 'CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps nvidia-cuda-mps-control <<< get_server_list'
const livenessProbe = {
  exec: { command: ['/bin/bash', '-c', askDaemon] },
  ...{ initialDelaySeconds: 10, periodSeconds: 10, timeoutSeconds: 5 },
}

/** A model's name for Kubernetes and the name of its port, which is the same in all pods that serve the model. */
type DnsNames = ReadonlyMap<string, { readonly dnsName: string; readonly portName: string }>

/** Lower-case letters, digits and dashes, numbered where two models would have the same name. */
function uniqueDnsNames(models: readonly string[]): DnsNames {
  const taken = new Set<string>()
  const named = [...new Set(models)].sort().map((model, m) => {
    const plain = model.toLowerCase().replace(/[^a-z0-9]+/g, '-')
    const name = plain.slice(0, 30).replace(/^-+|-+$/g, '') || 'model'
    let dnsName = name
    for (let i = 2; taken.has(dnsName); i++) dnsName = `${name}-${i}`
    taken.add(dnsName)
    return [model, { dnsName, portName: `model-${m}` }] as const
  })
  return new Map(named)
}
