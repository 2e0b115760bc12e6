import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'
import { InputFileError } from '../errors.js'
import { parseJsonAs } from '../json-input.js'
import { assertCluster, type Cluster } from './cluster.js'

const json = z.strictObject({
  servers: z.array(
    z.strictObject({
      count: z.number(),
      gpus: z.number(),
      cpus: z.number(),
      memoryGb: z.number(),
      storageMBps: z.number(),
      gpuType: z.string().exactOptional(),
      idlePowerW: z.number().exactOptional(),
    }),
  ),
})

/**
 * Read a cluster: our JSON (`{"servers":[{"count":4,"gpus":8,"cpus":24,"memoryGb":500,"storageMBps":500}, ...]}`), or
 * the Python code's INI file with a section `[CLUSTER]`.
 *
 * @throws InputFileError naming file and field
 */
export function parseClusterFile(text: string, file = 'cluster file'): Cluster {
  const cluster = text.trimStart().startsWith('{') ? parseJsonAs(json, text, file) : fromIni(text, file)
  try {
    assertCluster(cluster)
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    throw new InputFileError(file, null, error.field, error.value, 'a positive number (an integer, for counts)', {
      cause: error,
    })
  }
  return cluster
}

const required = [
  'racks',
  'servers_per_rack',
  'gpus_per_server',
  'cpus_per_server',
  'dram_per_server',
  'sspeed_per_server',
]

/** The Python code fills in absent keys silently; here each is required, save the network, which nothing uses. */
function fromIni(text: string, file: string): Cluster {
  const values = new Map<string, number>()
  let section = ''
  text.split(/\r?\n/).forEach((line, i) => {
    const content = line.replace(/[#;].*$/, '').trim()
    if (content === '') return
    const heading = /^\[(.+)\]$/.exec(content)
    if (heading) {
      section = heading[1]!.trim().toUpperCase()
      return
    }
    const entry = /^([^=:]+?)\s*[=:]\s*(.*)$/.exec(content)
    if (!entry) throw new InputFileError(file, i + 1, 'the line', content, 'key = value')
    if (section !== 'CLUSTER') return
    const value = Number(entry[2])
    if (entry[2] === '' || !Number.isFinite(value))
      throw new InputFileError(file, i + 1, entry[1]!, entry[2], 'a number')
    values.set(entry[1]!.toLowerCase(), value)
  })
  for (const key of required) {
    if (!values.has(key)) throw new InputFileError(file, null, `[CLUSTER] ${key}`, undefined, 'a number')
  }
  const of = (key: string) => values.get(key)!
  return {
    servers: [
      {
        count: of('racks') * of('servers_per_rack'),
        gpus: of('gpus_per_server'),
        cpus: of('cpus_per_server'),
        memoryGb: of('dram_per_server'),
        storageMBps: of('sspeed_per_server'),
      },
    ],
  }
}
