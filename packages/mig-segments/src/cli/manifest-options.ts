import { integerFrom, listOf, oneOf, UsageError } from '@pctodl/command-line'
import type { Command } from 'commander'
import { formatKubernetes } from '../kubernetes/kubernetes.js'
import { formatMigParted } from '../kubernetes/mig-parted.js'
import type { MappedBoard } from '../map/fleet-map.js'
import { splitWords } from '../worker-command.js'

export interface ManifestOptions {
  readonly migParted?: boolean
  readonly kubernetes?: boolean
  readonly image?: string
  readonly command?: string
  readonly nodeNames?: readonly string[]
  readonly devices: 'plugin' | 'dra'
  readonly port?: number
  readonly healthPath?: string
}

export function addManifestOptions(command: Command): Command {
  return command
    .option('--mig-parted', 'write mig-parted.yaml beside the map')
    .option('--kubernetes', 'write kubernetes.yaml beside it; needs --image and --command')
    .option('--image <name>', "container image of the manifests' workers")
    .option('--command <words>', 'command of the workers, e.g. "serve --model {model} --batch {batch} --port {port}"')
    .option(
      '--node-names <list>',
      'node names in the manifests, e.g. h100-node-0=gpu17 (default: h100-node-0, ...)',
      listOf(String),
    )
    .option(
      '--devices <name>',
      "in the manifests: plugin (NVIDIA's device plugin) or dra (claims of dynamic resource allocation)",
      oneOf('plugin', 'dra'),
      'plugin',
    )
    .option('--port <n>', 'port of the workers; models that share an instance use successive ports', integerFrom(1))
    .option('--health-path <path>', 'HTTP path on --port that answers 200 while a worker is healthy')
}

/** Returns a function that formats a map as cluster files, by name. Checks the options before planning starts. */
export function manifestsOf(options: ManifestOptions): (boards: readonly MappedBoard[]) => Record<string, string> {
  const { migParted, kubernetes, image, command, nodeNames, port, healthPath, devices } = options
  const parted = (boards: readonly MappedBoard[]) => (migParted ? { 'mig-parted.yaml': formatMigParted(boards) } : {})
  if (!kubernetes) {
    const others = [image, command, nodeNames, port, healthPath]
    if (others.every((option) => option === undefined) && devices === 'plugin') return parted
    throw new UsageError(
      '--image, --command, --node-names, --devices, --port and --health-path are for --kubernetes; add it',
    )
  }
  const words = splitWords(command ?? '')
  if (image === undefined || words.length === 0) {
    throw new UsageError('--kubernetes needs --image and --command: what the workers are')
  }
  if (healthPath !== undefined && port === undefined) throw new UsageError('--health-path needs --port')
  const names = (nodeNames ?? []).map((text) => {
    const [node, name, ...rest] = text.split('=')
    if (node && name && rest.length === 0) return [node, name] as const
    throw new UsageError(
      `--node-names: got '${text}', expected <node of the map>=<its name>, such as h100-node-0=gpu17`,
    )
  })
  const how = { image, command: words, devices, nodeNames: Object.fromEntries(names), port, healthPath }
  return (boards) => ({ ...parted(boards), 'kubernetes.yaml': formatKubernetes(boards, how) })
}
