import { createInterface } from 'node:readline/promises'
import { asUsage, type Terminal, UsageError } from '@pctodl/command-line'
import { findGpuSpec } from '@pctodl/platform'
import { algorithmNames } from './algorithms.js'
import type { BackendKind } from './cell.js'
import { parseBoards, type RawBenchOptions } from './options.js'
import { tasksOf } from './tasks.js'

/** Name of the real board of this machine; undefined where there is none that can be read. */
async function realBoardName(): Promise<string | undefined> {
  return undefined
}

/** `--detect-gpu`: which real board there is and which tasks it has. Exit code 1 where there is none, or none with tasks. */
export async function detectGpu({ stdout, stderr }: Terminal): Promise<number> {
  const name = await realBoardName()
  if (name === undefined) {
    stderr.write(
      'bench-runner: no NVIDIA GPU can be read here; --gpu 3080Ti or --gpu A100 runs on the simulated board\n',
    )
    return 1
  }
  const { key } = findGpuSpec(name)
  const ids = tasksOf(key).map(({ id }) => id)
  stdout.write(`${name}: ${key}, tasks ${ids[0]} to ${ids.at(-1)}\n`)
  return 0
}

/** The boards that the call names, or the real one of this machine; and whether runs take place on it or on simulated ones. */
export async function settleBoards(raw: RawBenchOptions): Promise<{ boards: string[]; backend: BackendKind }> {
  const real = raw.backend === 'sim' ? undefined : await realBoardName()
  if (raw.backend === 'nvml' && real === undefined) {
    throw new UsageError('--backend nvml: no NVIDIA GPU can be read here; --backend sim runs on the simulated board')
  }
  if (raw.gpu === undefined) {
    if (real !== undefined) return { boards: asUsage(() => parseBoards(real)), backend: 'nvml' }
    throw new UsageError('--gpu: name a board (3080Ti, A100, or all); no NVIDIA GPU can be read here to take it from')
  }
  const boards = asUsage(() => parseBoards(raw.gpu!))
  const isReal = real !== undefined && boards.length === 1 && findGpuSpec(real).key === boards[0]
  if (raw.backend === 'nvml' && !isReal) {
    throw new UsageError(
      `--gpu ${raw.gpu}: the board of this machine is ${real}; leave --gpu out, or use --backend sim`,
    )
  }
  return { boards, backend: isReal ? 'nvml' : 'sim' }
}

/** The algorithms that the call names; on a terminal they are asked for, elsewhere all of them run. */
export async function settleAlgorithm(raw: RawBenchOptions, terminal: Terminal): Promise<string> {
  if (raw.algorithm !== undefined) return raw.algorithm
  if (!terminal.stdout.isTTY || !process.stdin.isTTY || raw.json || raw.dryRun) return 'all'
  const questions = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const names = [...algorithmNames, 'all']
    const menu = names.map((name, i) => `  ${i + 1}  ${name}`).join('\n')
    for (;;) {
      const answer = await questions.question(`${menu}\nWhich algorithms (number, names, Enter for all)? `, {
        signal: terminal.signal,
      })
      const chosen = answer.trim() === '' ? 'all' : (names[Number(answer) - 1] ?? answer.trim())
      if (chosen.split(',').every((name) => names.includes(name.trim() as (typeof names)[number]))) return chosen
      terminal.stdout.write(`not one of ${names.join(', ')}\n`)
    }
  } finally {
    questions.close()
  }
}
