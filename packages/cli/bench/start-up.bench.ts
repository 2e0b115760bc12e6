/**
 * Measures how long the built `pctodl` takes from start to end, compared with Node.js itself.
 *
 *   pnpm --filter pctodl build && pnpm --filter pctodl bench
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Bench } from 'tinybench'

const built = fileURLToPath(new URL('../bin/pctodl.js', import.meta.url))
const bench = new Bench({ time: 0, iterations: 25, warmupTime: 0, warmupIterations: 3 })

for (const [name, args] of [
  ['node -e 0', ['-e', '0']],
  ['pctodl --version', [built, '--version']],
  ['pctodl --help', [built, '--help']],
  ['pctodl predict --help', [built, 'predict', '--help']],
  ['pctodl bench --help', [built, 'bench', '--help']],
] as const) {
  bench.add(name, () => {
    const { status } = spawnSync(process.execPath, args, { stdio: 'ignore' })
    if (status !== 0) throw new Error(`${name} ended with ${status}`)
  })
}

await bench.run()
console.table(
  bench.tasks.map(({ name, result }) =>
    'latency' in result
      ? {
          name,
          'median ms': result.latency.p50.toFixed(0),
          'p99 ms': result.latency.p99.toFixed(0),
          'best ms': result.latency.min.toFixed(0),
        }
      : { name, failed: result.state },
  ),
)
