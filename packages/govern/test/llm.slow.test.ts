import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { SeededRandom } from '@pctodl/numerics'
import { type NvmlGpu, openGpu } from '@pctodl/nvml-control'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { numberIn } from '../../../test/long-tests.js'
import {
  buildPrograms,
  eventually,
  everything,
  missingUsers,
  type Node,
  simulator,
  startNode,
} from '../../node-service/test/node-host.js'
import { type GovernStep, readHistograms, vllmNames } from '../src/index.js'

const OBJECTIVE_MS = 5000
const RATE_PER_S = 6
/** Of each of the two measurements; the machine that is measured on is a busy one. */
const MEASURED_MS = numberIn('PCTODL_GOVERN_LLM_S', 15) * 1000

describe.skipIf(missingUsers)(
  `the stand-in for vLLM under the governor${missingUsers ? ` (${missingUsers})` : ''}`,
  () => {
    let node: Node
    let gpu: NvmlGpu
    let programs: Awaited<ReturnType<typeof buildPrograms>>
    let log: string
    let url: string
    const children: ChildProcess[] = []
    const start = (...words: string[]) => {
      const child = spawn(process.execPath, words, {
        env: { ...process.env, PCTODL_SERVICE_SOCKET: node.options.socket },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      children.push(child)
      return child
    }
    const lastStep = (): GovernStep | undefined =>
      existsSync(log) ? JSON.parse(readFileSync(log, 'utf8').split('\n').at(-2) ?? 'null') : undefined
    const sample = async () => {
      const metrics = await (await fetch(new URL('/metrics', url))).text()
      return readHistograms(metrics, vllmNames('m', 'e2e'), OBJECTIVE_MS)!
    }

    /** Clients that come by chance, whether or not others wait. */
    const random = new SeededRandom(1)
    let isLoaded = true
    const load = async () => {
      while (isLoaded) {
        const body = {
          model: 'm',
          max_tokens: 5 + Math.floor(15 * random.uniform()),
          messages: [{ role: 'user', content: 'x'.repeat(400) }],
        }
        fetch(`${url}/chat/completions`, { method: 'POST', body: JSON.stringify(body) })
          .then((answer) => answer.text())
          .catch(() => {})
        await new Promise((resolve) => setTimeout(resolve, (-1000 / RATE_PER_S) * Math.log(1 - random.uniform())))
      }
    }
    const measure = async () => {
      const [begin, before] = [await gpu.sample(), await sample()]
      await new Promise((resolve) => setTimeout(resolve, MEASURED_MS))
      const [end, after] = [await gpu.sample(), await sample()]
      const answered = after.completed - before.completed
      return {
        watts: (1000 * (end.energyJ! - begin.energyJ!)) / (end.timeMs - begin.timeMs),
        attainment: 1 - (after.late - before.late) / answered,
        answered,
      }
    }

    beforeAll(async () => {
      node = await startNode({ privilege: 'root', board: 'A100' })
      node.allow(everything([process.getuid!()]))
      log = path.join(node.folder, 'govern.jsonl')
      programs = await buildPrograms({ govern: path.join(import.meta.dirname, 'fixtures', 'govern.ts') })
      gpu = await openGpu(0, { libraryPath: node.libraryPath, access: 'direct' })
      const llm = start(simulator, 'llm', '--parameters', '4e9', '--model', 'm', '--port', '0')
      url = await new Promise((resolve) => llm.stdout!.once('data', (line) => resolve(JSON.parse(line).url)))
      const { socket, policyFile, stateFolder, mpsFolder, libraryPath } = node.options
      const places = ['--socket', socket!, '--policy', policyFile!, '--state', stateFolder!, '--mps', mpsFolder!]
      start(programs.file('pctodld'), 'serve', ...places, '--library', libraryPath!, '--http', 'none')
      await eventually(() => existsSync(socket!), 'the service listens')
      void load()
    })
    afterAll(async () => {
      isLoaded = false
      for (const child of children.toReversed()) {
        const ended = new Promise((resolve) => child.once('exit', resolve))
        child.kill('SIGTERM')
        if (child.exitCode === null && child.signalCode === null) await ended
      }
      programs?.remove()
      await node?.stop()
    })

    it('takes less energy, and keeps the objective', async () => {
      await eventually(async () => (await sample()).completed > 10, 'answers')
      const alone = await measure()
      const config = `services: [{name: chat, vllm: '${url.replace(/\/v1$/, '')}', model: m, objective: {ms: ${OBJECTIVE_MS}}}]\n`
      writeFileSync(path.join(node.folder, 'govern.yaml'), config)
      const words = ['--config', path.join(node.folder, 'govern.yaml'), '--log', log, '--library', node.libraryPath]
      start(programs.file('govern'), ...words)
      const look = () => `${JSON.stringify(lastStep())}`
      await eventually(
        () => (lastStep()?.services[0]?.requests ?? 0) > 30,
        () => `requests are seen: ${look()}`,
      )
      await eventually(
        () => lastStep()?.smClockMhz != null,
        () => `a clock is held: ${look()}`,
      )
      await eventually(
        () => (lastStep()?.smClockMhz ?? 9999) < 1200,
        () => `a low clock is held: ${look()}`,
      )
      const governed = await measure()
      const said = ({ watts, attainment, answered }: typeof alone) =>
        `${watts.toFixed(1)} W, ${(100 * attainment).toFixed(2)} % of ${answered} in time`
      console.info(`alone ${said(alone)}; governed ${said(governed)}; ${JSON.stringify(lastStep())}`)
      expect(governed.watts).toBeLessThan(0.9 * alone.watts)
      expect(governed.attainment).toBeGreaterThanOrEqual(Math.min(0.97, alone.attainment - 0.02))
    })
  },
)
