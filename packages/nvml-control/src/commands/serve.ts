import type { Terminal } from '@pctodl/command-line'
import { type BoardOptions, openNvml, printJson, readBoards } from './open-boards.js'
import { PageServer } from './page-server.js'
import { prometheusText } from './prometheus.js'
import { boardStatus } from './status.js'
import { untilAborted } from './until-aborted.js'

export interface ServeOptions extends BoardOptions {
  readonly port: number
  readonly host: string
}

/** Serves metrics until it is interrupted. Boards are read only when a request arrives. */
export async function serve(options: ServeOptions, terminal: Terminal): Promise<number> {
  const nvml = await openNvml(options, terminal)
  const read = () => readBoards(nvml, options, (device) => boardStatus(device, options.leaseDir))
  const { boards, unreadable } = read()
  const server = await PageServer.start(options, {
    '/metrics': () => {
      const { boards, unreadable } = read()
      const lost = unreadable.map(({ gpu }) => gpu)
      return { text: prometheusText(boards, lost) }
    },
  })
  const url = `${server.url}/metrics`
  if (options.json) printJson(terminal, { url })
  else terminal.stdout.write(`metrics of ${boards.length + unreadable.length} boards at ${url}\n`)
  await untilAborted(terminal.signal)
  await server.close()
  return 0
}
