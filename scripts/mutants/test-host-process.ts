import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { LIMIT_REACHED, MEMORY_TAKEN, type TestAnswer, type TestRequest } from './test-host-protocol.js'

const LONGEST_WAIT_MS = 30 * 60_000

/** The process that runs `test-host.ts`. It is started when needed, and again after it had to be ended. */
export class TestHostProcess {
  #child: ChildProcess | undefined

  /** @returns the answer; `timeout` if a limit was reached, or the process neither computes nor answers */
  async ask(request: TestRequest): Promise<TestAnswer | 'timeout'> {
    const child = await this.#running()
    const answered = new AbortController()
    const limit = AbortSignal.timeout(LONGEST_WAIT_MS)
    const signal = AbortSignal.any([limit, answered.signal])
    const ended = (code: number | null): TestAnswer => {
      const failure = code === MEMORY_TAKEN ? 'it took too much memory' : 'its process ended'
      return { passed: false, failure, cpuMs: request.limitCpuMs, reached: [], cases: [] }
    }
    try {
      child.send(request)
      const [answer] = (await Promise.race([
        once(child, 'message', { signal }),
        once(child, 'exit', { signal }).then(([code]) => [code === LIMIT_REACHED ? 'timeout' : ended(code)]),
      ])) as [TestAnswer | 'timeout']
      return answer
    } catch (error) {
      if (!limit.aborted) throw error
      await this.close()
      return 'timeout'
    } finally {
      answered.abort()
    }
  }

  async close(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async #running(): Promise<ChildProcess> {
    if (this.#child && this.#child.exitCode === null && this.#child.signalCode === null) return this.#child
    // A temporary folder that is removed with the process, because killed or skipped tests do not remove their files.
    const folder = mkdtempSync(path.join(tmpdir(), 'mutants-'))
    const child = fork(path.join(import.meta.dirname, 'test-host.ts'), {
      execArgv: ['--import', import.meta.resolve('tsx'), '--conditions=@pctodl/source'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, TMPDIR: folder, TEMP: folder, TMP: folder },
    })
    child.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
    await once(child, 'message')
    this.#child = child
    return child
  }
}
