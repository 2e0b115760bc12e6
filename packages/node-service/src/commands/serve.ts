import { given, onEnding, type Terminal, UsageError } from '@pctodl/command-line'
import { untilAborted } from '@pctodl/nvml-control'
import { NodeService } from '../node-service.js'

export interface ServeOptions {
  readonly policy: string
  readonly socket: string
  readonly state: string
  readonly mps: string
  readonly mpsProgram?: string
  readonly library?: string
  readonly http: string
  readonly zeusd?: string
}

/** Time that the service has to end leases and restore boards when it stops, ms. */
const CLOSING_MS = 15_000

export async function serve(options: ServeOptions, { stdout, stderr, signal }: Terminal): Promise<number> {
  const service = await NodeService.start({
    socket: options.socket,
    policyFile: options.policy,
    stateFolder: options.state,
    mpsFolder: options.mps,
    http: httpAddress(options.http),
    onMessage: (message) => stderr.write(`pctodld: ${message}\n`),
    ...given({ mpsProgram: options.mpsProgram, zeusdSocket: options.zeusd, libraryPath: options.library }),
  })
  const forget = onEnding({
    stage: 'mps',
    what: 'the node service',
    deadlineMs: CLOSING_MS,
    end: () => service.close(),
  })
  try {
    const { boards } = service.status()
    const at = service.url === null ? '' : `; ${service.url}/metrics`
    stdout.write(`pctodld: ${boards.length} boards at ${options.socket}${at}\n`)
    await untilAborted(signal)
    return 0
  } finally {
    await service.close()
    forget()
  }
}

function httpAddress(text: string): { readonly host: string; readonly port: number } | null {
  if (text === 'none') return null
  const [, host, port] = /^(\[.+\]|[^:]+):(\d{1,5})$/.exec(text) ?? []
  if (host === undefined || Number(port) > 65_535)
    throw new UsageError(`--http: '${text}' is no address (127.0.0.1:9402)`)
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}
