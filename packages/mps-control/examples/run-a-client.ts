import { spawn } from 'node:child_process'
import { MpsDaemon } from '@pctodl/mps-control'
import { openGpu, withLease } from '@pctodl/nvml-control'

const [command = 'python', ...args] = process.argv.slice(2)
const gpu = await openGpu(0)
const mps = new MpsDaemon()
await withLease(gpu, async (lease) => {
  await mps.start({ deviceUuids: [gpu.device.uuid], exclusive: [lease] })
  try {
    const env = { ...process.env, ...mps.clientEnvironment(40) }
    const worker = spawn(command, args, { env, stdio: 'inherit' })
    await mps.verifyClient(worker.pid!) // or it would silently have the whole board
    const { state, servers } = await mps.status()
    console.log(
      `${state}, compute mode ${gpu.device.computeMode()}, clients ${servers.map((server) => server.clients)}`,
    )
  } finally {
    const how = await mps.stop({ graceMs: 10_000 }) // clients may finish for ten seconds
    console.log(`${how}, compute mode ${gpu.device.computeMode()}`)
  }
})
