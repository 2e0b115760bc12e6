import { z } from 'zod'
import { checkInput, parseJsonAs } from '../json-input.js'
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
 * Read a cluster: `{"servers":[{"count":4,"gpus":8,"cpus":24,"memoryGb":500,"storageMBps":500}, ...]}`.
 *
 * @throws InputFileError naming file and field
 */
export function parseClusterFile(text: string, file = 'cluster file'): Cluster {
  const cluster = parseJsonAs(json, text, file)
  checkInput(file, 'a positive number (an integer, for counts)', () => assertCluster(cluster))
  return cluster
}
