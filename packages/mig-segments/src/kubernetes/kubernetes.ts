import { InvalidInputError } from '@pctodl/platform'
import { stringify } from 'yaml'
import type { MappedBoard } from '../map/fleet-map.js'
import { quoted } from '../node/render-actions.js'
import { workerCommand } from '../worker-command.js'
import { formatMigParted, migConfigName } from './mig-parted.js'

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
   * How pods get their instances. `plugin` (default): by NVIDIA's device plugin; each Deployment is bound to its node.
   * `dra`: by dynamic resource allocation (`resource.k8s.io/v1`, Kubernetes 1.34) with NVIDIA's driver for it, which
   * finds a node with a free instance.
   */
  readonly devices?: 'plugin' | 'dra'
  /**
   * TCP port of a pod's workers. If models share an instance, each further one takes the next port. If `port` is set,
   * each model gets a Service, and a pod is ready once its ports accept connections.
   */
  readonly port?: number
  /**
   * Path that answers a GET on `port` with 200 while the workers are healthy. Default: a port that accepts connections
   * is enough.
   */
  readonly healthPath?: string
}

/** Name of the ConfigMap with the MIG layouts. */
const MIG_CONFIG_MAP = 'pctodl-mig-parted-config'
const DEVICE_PLUGIN_CONFIG_MAP = 'pctodl-device-plugin-config'
const DEVICE_PLUGIN_CONFIG = 'mig-mixed'

/**
 * Starts the instance's own MPS daemon, then the workers. The script ends with the first worker that ends, so that
 * Kubernetes restarts the container. The device plugin cannot share MIG devices by MPS, so the pod owns the whole
 * instance.
 */
const startDaemon = `set -eu
export CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps CUDA_MPS_LOG_DIRECTORY=/tmp/nvidia-mps-log
nvidia-cuda-mps-control -d
trap 'kill $(jobs -p) 2>/dev/null || true; echo quit | nvidia-cuda-mps-control' EXIT
trap 'exit 143' TERM
`
/** The models of a kind of instance, and the number of such instances. */
interface PodKind {
  readonly members: MappedBoard['segments']
  readonly count: number
}

/**
 * Returns the manifests for a cluster with NVIDIA's GPU operator:
 *
 * - the MIG layouts of all nodes for the MIG manager, and the node labels that select them
 * - the device plugin's configuration or, with `dra`, a DeviceClass and a ResourceClaimTemplate for each MIG profile
 * - with `port`, a Service for each model
 * - a Deployment with probes for each kind of instance on each node or, with `dra`, on each type of board
 *
 * Each pod has one instance. Models that share it run in one container with one MPS daemon, on consecutive ports
 * (`{port}` in the command), and the pod is ready once all of them are. With `dra`, nodes get a label with their type
 * of board, because different boards may have profiles of the same name.
 *
 * @returns one YAML text with several documents
 * @throws InvalidInputError for an invalid port or path
 */
export function formatKubernetes(boards: readonly MappedBoard[], options: KubernetesOptions): string {
  const { operatorNamespace = 'gpu-operator', namespace = 'default', nodeNames = {}, port } = options
  const dra = options.devices === 'dra'
  assertPort(options)
  const dnsNames = uniqueDnsNames(boards)
  const models = [...dnsNames.keys()]
  const documents: unknown[] = [
    configMap(MIG_CONFIG_MAP, operatorNamespace, { 'config.yaml': formatMigParted(boards) }),
  ]
  const profiles = new Set(boards.flatMap(({ segments }) => segments.map(({ profile }) => profile)))
  if (dra) documents.push(...[...profiles].sort().flatMap((profile) => deviceDocuments(profile, namespace)))
  else documents.push(devicePluginConfig(operatorNamespace))
  if (port !== undefined) {
    models.forEach((model, m) => {
      documents.push(service(dnsNames.get(model)!, namespace, port, portName(m)))
    })
  }
  /** Boards by the place to which their pods are bound: a node or, with `dra`, all nodes with one type of board. */
  const places = grouped(boards, ({ gpu, node }) => (dra ? gpu.toLowerCase() : nodeName(gpu, node)))
  for (const [node, ofNode] of grouped(boards, ({ gpu, node }) => nodeName(gpu, node))) {
    const { gpu, node: index } = ofNode[0]!
    const plugin = { 'nvidia.com/device-plugin.config': DEVICE_PLUGIN_CONFIG }
    const labels = { 'nvidia.com/mig.config': migConfigName(gpu, index), ...(dra ? boardLabel(gpu) : plugin) }
    documents.push({ apiVersion: 'v1', kind: 'Node', metadata: { name: nodeNames[node] ?? node, labels } })
  }
  for (const [place, there] of places) {
    const selector = dra ? boardLabel(there[0]!.gpu) : { 'kubernetes.io/hostname': nodeNames[place] ?? place }
    for (const [k, kind] of kindsOf(there).entries()) {
      documents.push(deployment(kind, `${place}-${k}`, selector, dnsNames, models, options))
    }
  }
  return documents
    .map((document) => `---\n${stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 })}`)
    .join('')
}

/** Label of a node for the type of its boards. */
function boardLabel(gpu: string): Record<string, string> {
  return { 'pctodl.board': gpu }
}

function nodeName(gpu: string, node: number): string {
  return `${gpu.toLowerCase()}-node-${node}`
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

function kindsOf(boards: readonly MappedBoard[]): PodKind[] {
  const instances = boards.flatMap(({ segments }) => [...grouped(segments, ({ start }) => String(start)).values()])
  const alike = grouped(instances, (members) =>
    members.map(({ profile, model, batchSize, processes }) => [profile, model, batchSize, processes]).join(),
  )
  return [...alike.values()].map((kind) => ({ members: kind[0]!, count: kind.length }))
}

function deployment(
  { members, count }: PodKind,
  place: string,
  nodeSelector: Record<string, string>,
  dnsNames: ReadonlyMap<string, string>,
  models: readonly string[],
  { image, command, namespace = 'default', devices, port, healthPath }: KubernetesOptions,
) {
  const name = `pctodl-${place}`
  const { profile } = members[0]!
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
      // There is no spare instance, so a pod must end before its successor can start.
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

/** Name of a model's port, which is the same in all pods that serve the model. */
function portName(model: number): string {
  return `model-${model}`
}

/** Probes that succeed if every port accepts connections, or answers 200. They run in bash. */
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

/** Configuration that makes the device plugin offer MIG devices by profile. */
function devicePluginConfig(operatorNamespace: string): object {
  const config = stringify({ version: 'v1', flags: { migStrategy: 'mixed' } })
  return configMap(DEVICE_PLUGIN_CONFIG_MAP, operatorNamespace, { [DEVICE_PLUGIN_CONFIG]: config })
}

/** Models in one instance, each with its own port. */
const MAX_MEMBERS = 4

/**
 * Checks port and path.
 * @throws InvalidInputError for an invalid port or path
 */
function assertPort({ port, healthPath }: KubernetesOptions): void {
  const most = 65_536 - MAX_MEMBERS
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port <= most)) {
    throw new InvalidInputError('port', port, `a TCP port from 1 to ${most}`)
  }
  if (healthPath !== undefined && (port === undefined || !healthPath.startsWith('/'))) {
    throw new InvalidInputError('healthPath', healthPath, 'a path that begins with /, beside a port')
  }
}

function configMap(name: string, namespace: string, data: Record<string, string>): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data }
}

/** Name of a pod's claim to its instance. */
const CLAIM = 'instance'

/** A pod's claim to an instance of a profile. */
function claimOf(profile: string): object {
  return { name: CLAIM, resourceClaimTemplateName: deviceName(profile) }
}

/** Name of a profile's device class and claims. Such names may not contain dots. */
function deviceName(profile: string): string {
  return `pctodl-mig-${profile.replaceAll('.', '-')}`
}

/** The device class for instances of one profile, and the template of a pod's claim to one of them. */
function deviceDocuments(profile: string, namespace: string): unknown[] {
  const name = deviceName(profile)
  const attribute = "device.attributes['gpu.nvidia.com']"
  const expression = `device.driver == 'gpu.nvidia.com' && ${attribute}.type == 'mig' && ${attribute}.profile == '${profile}'`
  const exactly = { deviceClassName: name, allocationMode: 'ExactCount', count: 1 }
  return [
    {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'DeviceClass',
      metadata: { name },
      spec: { selectors: [{ cel: { expression } }] },
    },
    {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceClaimTemplate',
      metadata: { name, namespace },
      spec: { spec: { devices: { requests: [{ name: CLAIM, exactly }] } } },
    },
  ]
}

/** Probe that checks whether the MPS daemon of a pod answers. */
const livenessProbe = {
  exec: {
    command: ['/bin/bash', '-c', 'CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps nvidia-cuda-mps-control <<< get_server_list'],
  },
  initialDelaySeconds: 10,
  periodSeconds: 10,
  timeoutSeconds: 5,
} as const

/**
 * Names of models for Kubernetes: lower-case letters, digits and dashes, at most 63 characters. If two models would
 * have the same name, numbers are added.
 */
function uniqueDnsNames(boards: readonly MappedBoard[]): Map<string, string> {
  const models = [...new Set(boards.flatMap(({ segments }) => segments.map(({ model }) => model)))].sort()
  const names = new Map<string, string>()
  const taken = new Set<string>()
  for (const model of models) {
    const name = dnsNameOf(model)
    let unique = name
    for (let i = 2; taken.has(unique); i++) unique = `${name}-${i}`
    taken.add(unique)
    names.set(model, unique)
  }
  return names
}

function dnsNameOf(model: string): string {
  const name = model
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 30)
    .replace(/^-+|-+$/g, '')
  return name === '' ? 'model' : name
}
