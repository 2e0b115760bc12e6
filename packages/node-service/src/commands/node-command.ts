import {
  type CommandFunction,
  given,
  integerFrom,
  jsonText,
  newCommand,
  parseCommand,
  Subcommands,
  type Terminal,
  UsageError,
} from '@pctodl/command-line'
import { ServiceClient, type ServiceResults, serviceSocketPath } from '@pctodl/nvml-control'
import type { Command } from 'commander'
import { version } from '../../package.json'
import { Names } from '../names.js'
import { Policy } from '../policy.js'
import type { ServeOptions } from './serve.js'

interface AskOptions {
  readonly socket?: string
  readonly json?: boolean
}

interface EndLeasesOptions extends AskOptions {
  readonly uid?: number
  readonly boards?: string
  readonly workload?: string
}

export const node: CommandFunction = async (argv, terminal) => {
  const program = newCommand(
    {
      name: 'pctodld',
      version,
      description: 'The only program of a node that may change its GPUs. Other users request changes, within a policy.',
      example: 'pctodld serve --policy /etc/pctodl/policy.json',
    },
    terminal,
  )
  const subcommands = new Subcommands(program, terminal)
  const asking = (command: Command): Command =>
    command
      .option('--socket <path>', 'socket of the service (default: $PCTODL_SERVICE_SOCKET, or /run/pctodl/pctodld.sock)')
      .option('--json', 'print JSON')

  subcommands
    .add('serve', 'serve leases until stopped; needs root')
    .option('--policy <file>', 'policy: who may set what', '/etc/pctodl/policy.json')
    .option('--socket <path>', 'socket to listen on, unless systemd passes one', serviceSocketPath())
    .option('--state <folder>', 'journals and audit log', '/var/lib/pctodl')
    .option('--mps <folder>', 'folders of the MPS daemons', '/run/pctodl/service-mps')
    .option('--mps-program <path>', 'nvidia-cuda-mps-control (default: from PATH; only root may be able to write it)')
    .option('--library <path>', "NVML's library (default: where drivers put it)")
    .option('--http <address>', 'address of /metrics, /healthz and /readyz; none disables them', '127.0.0.1:9402')
    .option('--zeusd <path>', 'a second socket with the protocol of zeusd, for Zeus (ZEUSD_SOCK_PATH)')
    .action(
      // The service's code is imported only here, because other subcommands do not need it.
      subcommands.action(async (options: ServeOptions) => (await import('./serve.js')).serve(options, terminal)),
    )

  subcommands
    .add('check-policy', 'check the content and the ownership of a policy')
    .argument('<file>')
    .action(
      subcommands.action(async (_, [file = '']) => {
        const names = new Names()
        Policy.load(file, names.idOf)
        await names.settled()
        const { rules, unknownNames } = Policy.load(file, names.idOf)
        terminal.stdout.write(`${file}: ${rules.length} rules\n`)
        for (const name of unknownNames) terminal.stderr.write(`pctodld: nobody knows ${name}\n`)
        return unknownNames.length > 0 ? 1 : 0
      }),
    )

  asking(subcommands.add('status', 'boards, their state and their leases')).action(
    subcommands.action((options: AskOptions) => status(options, terminal)),
  )

  asking(subcommands.add('ready', 'exit with 0 if every board can be leased, else with 1; for a prolog')).action(
    subcommands.action((options: AskOptions) =>
      ask(options, async (client) => {
        const { ready, reasons } = await client.request({ type: 'status' })
        for (const reason of reasons) terminal.stderr.write(`pctodld: ${reason}\n`)
        return ready ? 0 : 1
      }),
    ),
  )

  asking(subcommands.add('end-leases', 'end leases and restore their boards; for an epilog; needs root'))
    .option('--uid <uid>', 'leases of this user', integerFrom(0))
    .option('--boards <uuids>', 'leases on these boards, separated by commas')
    .option('--workload <id>', 'leases of slurm:<job id> or pod:<uid>; with --uid, also leases of unknown workloads')
    .action(subcommands.action((options: EndLeasesOptions) => endLeases(options, terminal)))

  if (argv.length === 0) throw new UsageError('no subcommand; one of serve, check-policy, status, ready, end-leases')
  await parseCommand(program, argv)
  return subcommands.exitCode
}

async function ask({ socket }: AskOptions, work: (client: ServiceClient) => Promise<number>): Promise<number> {
  const client = await ServiceClient.open(given({ socket }))
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

function status(options: AskOptions, { stdout }: Terminal): Promise<number> {
  return ask(options, async (client) => {
    const answer = await client.request({ type: 'status' })
    if (options.json) stdout.write(jsonText(answer))
    else {
      for (const { index, name, uuid, condition, reason, lease, instances } of answer.boards) {
        const how = reason ? `${condition} (${reason})` : condition
        stdout.write(`GPU ${index}: ${name} (${uuid}): ${how}, ${whose(lease)}\n`)
        for (const instance of instances)
          stdout.write(`  ${instance.name} (${instance.uuid}): ${whose(instance.lease)}\n`)
      }
      stdout.write(answer.ready ? 'ready\n' : `not ready: ${answer.reasons.join('; ')}\n`)
    }
    return answer.ready ? 0 : 1
  })
}

async function endLeases(options: EndLeasesOptions, { stdout }: Terminal): Promise<number> {
  const { uid = null, boards, workload } = options
  if (uid === null && boards === undefined && workload === undefined)
    throw new UsageError('specify --uid, --boards or --workload')
  const uuids = boards?.split(',').filter((board) => board !== '') ?? null
  return ask(options, async (client) => {
    const { ended } = await client.request({ type: 'end-leases', uid, boards: uuids, ...given({ workload }) })
    if (options.json) stdout.write(`${JSON.stringify({ ended })}\n`)
    else stdout.write(ended.length === 0 ? 'no lease to end\n' : `ended: ${ended.join(', ')}\n`)
    return 0
  })
}

function whose(lease: ServiceResults['status']['boards'][number]['lease']): string {
  if (!lease) return 'free'
  const { pid, program, uid, workload, since, mps } = lease
  const of = workload === null ? `user ${uid}` : `user ${uid} in ${workload}`
  return `leased by process ${pid} (${program}) of ${of} since ${since}${mps ? ', with MPS' : ''}`
}
