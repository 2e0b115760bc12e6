import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { NodeService } from '@pctodl/node-service'
import { openGpu, withLease } from '@pctodl/nvml-control'

const folder = mkdtempSync(path.join(tmpdir(), 'node-service-'))
chmodSync(folder, 0o755)
const policyFile = path.join(folder, 'policy.json')
const rule = { users: [process.getuid!()], boards: ['*'], powerLimitW: { min: 200, max: 300 } }
writeFileSync(policyFile, JSON.stringify({ format: 'pctodl-policy', version: 1, rules: [rule] }))

const socket = path.join(folder, 'pctodld.sock')
const places = { stateFolder: path.join(folder, 'state'), mpsFolder: path.join(folder, 'mps') }
const service = await NodeService.start({ socket, policyFile, ...places, http: null })
try {
  const gpu = await openGpu(0, { serviceSocket: socket })
  console.log(`${gpu.access.kind}: ${gpu.access.reason}`)
  await withLease(gpu, async (lease) => {
    await lease.setPowerLimit(250)
    console.log(`limit ${gpu.device.powerLimitW()} W`)
    await lease.setPowerLimit(390).catch((error) => console.log(error.code))
  })
  console.log(`limit ${gpu.device.powerLimitW()} W`)
} finally {
  await service.close()
  rmSync(folder, { recursive: true })
}
