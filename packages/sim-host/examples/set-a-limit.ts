import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { SimulatedHost } from '@pctodl/sim-host'

const run = promisify(execFile)
const host = await SimulatedHost.start({ board: 'A100', privilege: 'everyone' })
try {
  // Not execFileSync: the board answers from this process.
  const env = { ...process.env, ...host.environment }
  await run('nvidia-smi', ['-pl', '200'], { env })
  const fields = '--query-gpu=name,power.limit'
  const { stdout } = await run('nvidia-smi', [fields, '--format=csv,noheader'], { env })
  console.log(stdout.trim())
} finally {
  host.close()
}
