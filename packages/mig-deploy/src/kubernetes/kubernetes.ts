import { InvalidInputError } from '@pctodl/platform'
import { stringify } from 'yaml'
import { DEFAULT_GPUS_PER_NODE, type MappedGpu, type MappedSegment } from '../map/deployment-map.js'
import { type MigBoard, segmentSizes } from '../mig-geometry.js'
import { workerCommand } from '../worker-command.js'
import { byNode, formatMigParted, migConfigName, migPartedConfig } from './mig-parted.js'

export interface KubernetesOptions {
  readonly gpusPerNode?: number
  /** Kubernetes names of the nodes, by node index. Default `gpu-node-<index>`. */
  readonly nodeNames?: readonly string[]
  /** Image of the workers; it must have bash; NVIDIA's container toolkit adds the driver's MPS programs. */
  readonly image: string
  /** Command of one worker; `{model}`, `{batch}` and `{processes}` in it are replaced. */
  readonly command: readonly string[]
  /** Namespace of the workers. Default `default`. */
  readonly namespace?: string
  /** Namespace of the GPU operator. Default `gpu-operator`. */
  readonly operatorNamespace?: string
  /**
   * How pods get their instances. `plugin` (the default): NVIDIA's device plugin, each Deployment on its node. `dra`: dynamic resource allocation
   * (`resource.k8s.io/v1`, Kubernetes 1.34) with NVIDIA's driver for it, which finds a node with a free instance.
   */
  readonly devices?: 'plugin' | 'dra'
  /** TCP port on which the workers of a pod answer. With it each model gets a Service, and pods are ready once they accept. */
  readonly port?: number
  /** Path that answers 200 to GET on `port` while the workers are well. Default: it is enough that the port accepts. */
  readonly healthPath?: string
}

/** Name of the ConfigMap with the MIG layouts. */
export const MIG_CONFIG_MAP = 'pctodl-mig-parted-config'
const DEVICE_PLUGIN_CONFIG_MAP = 'pctodl-device-plugin-config'
const DEVICE_PLUGIN_CONFIG = 'mig-mixed'

/**
 * Start the instance's own MPS daemon, then the workers; end with the first that ends, so that the container is restarted. The
 * device plugin does not share MIG devices by MPS, so the pod owns the instance and shares it itself.
 */
export const startDaemon = `set -eu
export CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps CUDA_MPS_LOG_DIRECTORY=/tmp/nvidia-mps-log
nvidia-cuda-mps-control -d
trap 'kill $(jobs -p) 2>/dev/null || true; echo quit | nvidia-cuda-mps-control' EXIT
trap 'exit 143' TERM
`
const startScript = `${startDaemon}for ((i = 0; i < PROCESSES; i++)); do "$@" & done
wait -n
`

/**
 * Manifests for a cluster with NVIDIA's GPU operator: the MIG layouts of all nodes for its MIG manager, the labels that apply
 * them, the device plugin's configuration, a Service for each model if the workers have a port, and a Deployment with probes for the
 * segments of each kind on each node. With `dra` a DeviceClass and a ResourceClaimTemplate for each MIG profile stand for the device plugin,
 * and no Deployment names a node.
 *
 * @returns one YAML text with several documents
 * @throws InvalidInputError where a node has no name, or for a port or path that is none
 */
export function formatKubernetes(gpus: readonly MappedGpu[], board: MigBoard, options: KubernetesOptions): string {
  const { gpusPerNode = DEFAULT_GPUS_PER_NODE, operatorNamespace = 'gpu-operator' } = options
  const dra = options.devices === 'dra'
  assertPort(options)
  const parted = formatMigParted(migPartedConfig(gpus, board, gpusPerNode))
  const documents: unknown[] = [configMap(MIG_CONFIG_MAP, operatorNamespace, { 'config.yaml': parted })]
  if (dra) documents.push(...profilesOf(gpus, board).flatMap((profile) => deviceDocuments(profile, options.namespace)))
  else documents.push(devicePluginConfig(operatorNamespace))
  const dnsNames = uniqueDnsNames(gpus)
  if (options.port !== undefined) {
    for (const dnsName of dnsNames.values()) documents.push(service(dnsName, options.port, options.namespace))
  }
  for (const [node, ofNode] of byNode(gpus, gpusPerNode)) {
    const name = nodeName(node, options.nodeNames)
    documents.push(labelledNode(name, migConfigName(node), !dra))
    if (dra) continue
    for (const { segment, count } of kindsOf(ofNode)) {
      documents.push(deployment(segment, dnsNames.get(segment.model)!, count, { node, name }, board, options))
    }
  }
  if (dra) {
    for (const { segment, count } of kindsOf(gpus)) {
      documents.push(deployment(segment, dnsNames.get(segment.model)!, count, null, board, options))
    }
  }
  return documents
    .map((document) => `---\n${stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 })}`)
    .join('')
}

/** What makes the device plugin give out MIG devices by their profiles. */
export function devicePluginConfig(operatorNamespace: string): object {
  const config = stringify({ version: 'v1', flags: { migStrategy: 'mixed' } })
  return configMap(DEVICE_PLUGIN_CONFIG_MAP, operatorNamespace, { [DEVICE_PLUGIN_CONFIG]: config })
}

/** A node with the labels that give it its layout and the device plugin its configuration. @param more labels of our own */
export function labelledNode(name: string, layout: string, plugin: boolean, more: Record<string, string> = {}): object {
  const labels = {
    'nvidia.com/mig.config': layout,
    ...(plugin && { 'nvidia.com/device-plugin.config': DEVICE_PLUGIN_CONFIG }),
    ...more,
  }
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } }
}

/** @throws InvalidInputError for a port or path that is none */
export function assertPort({ port, healthPath }: Pick<KubernetesOptions, 'port' | 'healthPath'>, pods = 1): void {
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port + pods - 1 <= 65_535)) {
    throw new InvalidInputError('port', port, `a TCP port from 1 to ${65_536 - pods}`)
  }
  if (healthPath !== undefined && (port === undefined || !healthPath.startsWith('/'))) {
    throw new InvalidInputError('healthPath', healthPath, 'a path that begins with /, beside a port')
  }
}

/** A ConfigMap. */
export function configMap(name: string, namespace: string, data: Record<string, string>): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data }
}

function nodeName(node: number, names: readonly string[] | undefined): string {
  const name = names === undefined ? `gpu-node-${node}` : names[node]
  if (name === undefined) {
    throw new InvalidInputError('nodeNames', names, `a name for node ${node}; the map uses it`)
  }
  return name
}

/** Segments that run alike, and how many there are. */
function kindsOf(gpus: readonly MappedGpu[]): { segment: MappedSegment; count: number }[] {
  const kinds = new Map<string, { segment: MappedSegment; count: number }>()
  for (const segment of gpus.flatMap(({ segments }) => segments)) {
    const { model, sizeGpcs, batchSize, processes } = segment
    const key = `${model} ${sizeGpcs} ${batchSize} ${processes}`
    const kind = kinds.get(key) ?? { segment, count: 0 }
    kind.count++
    kinds.set(key, kind)
  }
  return [...kinds.values()]
}

function deployment(
  segment: MappedSegment,
  dnsName: string,
  replicas: number,
  /** The node that its instances are on; null: wherever one is free. */
  place: { readonly node: number; readonly name: string } | null,
  board: MigBoard,
  options: KubernetesOptions,
) {
  const { image, command, namespace = 'default' } = options
  const { sizeGpcs, batchSize, processes } = segment
  const kind = `${dnsName}-${sizeGpcs}g-b${batchSize}-p${processes}`
  const name = place ? `${kind}-node${place.node}` : kind
  const profile = board.profileNames[sizeGpcs]
  const labels = { 'app.kubernetes.io/name': dnsName, 'pctodl.segment': name }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      // There is no spare instance to start a successor on: a segment ends before its successor starts.
      strategy: { type: 'Recreate' },
      selector: { matchLabels: { 'pctodl.segment': name } },
      template: {
        metadata: { labels },
        spec: {
          ...(place && { nodeSelector: { 'kubernetes.io/hostname': place.name } }),
          ...(!place && { resourceClaims: [claimOf(profile)] }),
          containers: [
            {
              name: 'segment',
              image,
              command: ['/bin/bash', '-c', startScript, 'segment'],
              args: workerCommand(command, segment),
              env: [{ name: 'PROCESSES', value: String(processes) }],
              ...(options.port !== undefined && { ports: [{ name: 'requests', containerPort: options.port }] }),
              ...probes(options),
              resources: place ? { limits: { [`nvidia.com/mig-${profile}`]: 1 } } : { claims: [{ name: CLAIM }] },
            },
          ],
        },
      },
    },
  }
}

/** Name of a pod's claim to its instance. */
export const CLAIM = 'instance'

/** What a pod claims: an instance of a profile. */
export function claimOf(profile: string): object {
  return { name: CLAIM, resourceClaimTemplateName: deviceName(profile) }
}

/** Name of the class and the claims of a profile: names have no dots. */
function deviceName(profile: string): string {
  return `pctodl-mig-${profile.replaceAll('.', '-')}`
}

/** Profiles that a map uses, smallest first. */
function profilesOf(gpus: readonly MappedGpu[], board: MigBoard): string[] {
  const used = new Set(gpus.flatMap(({ segments }) => segments.map(({ sizeGpcs }) => sizeGpcs)))
  return segmentSizes.filter((size) => used.has(size)).map((size) => board.profileNames[size])
}

/** A class of the instances of one profile, and what makes a claim to one of them for each pod. */
export function deviceDocuments(profile: string, namespace = 'default'): unknown[] {
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

/** All segments of a model behind one name, which must begin with a letter. */
function service(dnsName: string, port: number, namespace = 'default') {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: /^[a-z]/.test(dnsName) ? dnsName : `model-${dnsName}`,
      namespace,
      labels: { 'app.kubernetes.io/name': dnsName },
    },
    spec: {
      selector: { 'app.kubernetes.io/name': dnsName },
      ports: [{ name: 'requests', port, targetPort: 'requests' }],
    },
  }
}

/** Whether the MPS daemon of a pod answers. */
export const livenessProbe = {
  exec: {
    command: ['/bin/bash', '-c', 'CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps nvidia-cuda-mps-control <<< get_server_list'],
  },
  initialDelaySeconds: 10,
  periodSeconds: 10,
  timeoutSeconds: 5,
} as const

/** Alive while the MPS daemon answers; with a port, ready while the workers do. Models may take ten minutes to load. */
function probes({ port, healthPath }: KubernetesOptions) {
  if (port === undefined) return { livenessProbe }
  const asksWorkers =
    healthPath === undefined ? { tcpSocket: { port: 'requests' } } : { httpGet: { path: healthPath, port: 'requests' } }
  return {
    livenessProbe,
    startupProbe: { ...asksWorkers, periodSeconds: 5, failureThreshold: 120 },
    readinessProbe: { ...asksWorkers, periodSeconds: 5 },
  }
}

/**
 * Names in Kubernetes have small letters, digits and dashes only, and as labels at most 63 of them. Models whose names would
 * be the same get a number, or one would replace the other.
 */
export function uniqueDnsNames(
  gpus: readonly { readonly segments: readonly { readonly model: string }[] }[],
): Map<string, string> {
  const models = [...new Set(gpus.flatMap(({ segments }) => segments.map(({ model }) => model)))].sort()
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
