/**
 * The complete matrix on the simulator, then its report: wall time and the most memory that all processes held.
 *
 *   pnpm --filter @pctodl/bench-runner bench [more options of bench-runner]
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const program = path.resolve(import.meta.dirname, '../bin/bench-runner.js')
const folder = mkdtempSync(path.join(tmpdir(), 'bench-matrix-'))

try {
  await measured('matrix', ['--gpu', 'all', '--result-dir', folder, ...process.argv.slice(2)])
  await measured('report', ['report', folder])
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function measured(name: string, args: readonly string[]): Promise<void> {
  const startedMs = performance.now()
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
  let peakBytes = 0
  const watch = setInterval(() => {
    const tree = processTree(child.pid!)
    peakBytes = Math.max(
      peakBytes,
      tree.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
    )
  }, 100)
  const code = await new Promise((resolve) => child.once('close', resolve))
  clearInterval(watch)
  if (code !== 0) throw new Error(`${name} ended with exit code ${code}`)
  const wallS = (performance.now() - startedMs) / 1000
  console.log(`${name}: ${wallS.toFixed(1)} s, at most ${(peakBytes / 2 ** 20).toFixed(0)} MiB in all its processes`)
}

/** A process and its descendants with their resident memory; Linux. */
function processTree(root: number): { readonly pid: number; readonly residentBytes: number }[] {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const status = readFileSync(`/proc/${name}/status`, 'utf8')
        const field = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
        return [{ pid: Number(name), parent: field('PPid'), residentBytes: field('VmRSS') * 1024 }]
      } catch {
        return [] // ended meanwhile
      }
    })
  const tree = processes.filter(({ pid }) => pid === root)
  for (const member of tree) tree.push(...processes.filter(({ parent }) => parent === member.pid))
  return tree
}
