import { existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { withCpus } from './run-limits.js'

/**
 * Size and number of files of a data set, or of its `train` folder if it has one. Each file counts as a sample.
 *
 * @throws InvalidInputError if the folder is absent or empty
 */
export function measureDataset(folder: string): { gb: number; samples: number; files: string[] } {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    throw new InvalidInputError('data', folder, 'a folder, or --dataset-gb and --num-samples')
  }
  const train = path.join(folder, 'train')
  const root = existsSync(train) ? train : folder
  let bytes = 0
  const files: string[] = []
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath, entry.name)
    bytes += statSync(file).size
    files.push(file)
  }
  if (bytes === 0) throw new InvalidInputError('data', root, 'a folder with files, or --dataset-gb and --num-samples')
  return { gb: bytes / 2 ** 30, samples: files.length, files }
}

/** Maximum number of bytes read: enough for a stable rate, and read within seconds. */
const MAX_BYTES = 512 * 2 ** 20

/**
 * Read rate of the storage of a data set, MB/s (2^20), measured on its own files past the page cache.
 *
 * @throws PctodlError `STORAGE_RATE` if the file system cannot bypass its cache
 */
export async function measureStorageMBps(files: readonly string[], signal?: AbortSignal): Promise<number> {
  const { execa } = await import('execa')
  let bytes = 0
  let seconds = 0
  for (const file of files) {
    if (bytes >= MAX_BYTES || seconds > 10) break
    const began = performance.now()
    const words = [`if=${file}`, 'of=/dev/null', 'bs=4M', 'iflag=direct']
    const result = await execa('dd', words, { reject: false, ...(signal && { cancelSignal: signal }) })
    signal?.throwIfAborted()
    if (result.exitCode !== 0) {
      const why = result.stderr?.trim().split('\n').at(-1) ?? result.shortMessage
      throw new PctodlError('STORAGE_RATE', `cannot measure the storage rate of ${file}: ${why}; give --storage-mbps`)
    }
    // Uses the time that dd reports: for small files, starting dd takes longer than the read.
    const told = /, ([\d.e+-]+) s, /.exec(result.stderr ?? '')?.[1]
    seconds += told === undefined ? (performance.now() - began) / 1000 : Number(told)
    bytes += statSync(file).size
  }
  return bytes / 2 ** 20 / Math.max(seconds, 1e-6)
}

/** Each thread searches its buffer five times for a byte that does not occur. The fastest pass counts. */
const READ_MEMORY = `
const { Worker } = require('node:worker_threads')
const bytes = 128 * 2 ** 20
const source = ${'`'}const { parentPort } = require('node:worker_threads')
  const buffer = Buffer.alloc(\${bytes}, 1)
  let best = Infinity
  for (let i = 0; i < 5; i++) {
    const began = process.hrtime.bigint()
    if (buffer.includes(7)) throw new Error('found')
    best = Math.min(best, Number(process.hrtime.bigint() - began))
  }
  parentPort.postMessage(\${bytes} / best)${'`'}
const count = Number(process.argv[1])
let sum = 0
let left = count
for (let i = 0; i < count; i++) {
  new Worker(source, { eval: true }).on('message', (rate) => {
    sum += rate * 1e9 / 2 ** 30
    if (--left === 0) console.log(sum)
  })
}`

/** Combined memory read rate of a number of cores, GB/s (2^30). */
export async function measureMemoryGBps(
  cpus: readonly number[],
  count: number,
  env: Readonly<Record<string, string | undefined>>,
  signal?: AbortSignal,
): Promise<number> {
  const reader = [process.execPath, '--eval', READ_MEMORY, String(count)]
  const [program, ...args] = withCpus(reader, cpus, count, env['PATH'] ?? '')
  const { execa } = await import('execa')
  const { stdout } = await execa(program!, args, signal && { cancelSignal: signal })
  const rate = Number(stdout)
  if (!(rate > 0)) throw new PctodlError('MEMORY_RATE', `the memory reader printed '${stdout}', expected a rate`)
  return rate
}
