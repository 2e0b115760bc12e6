import { LocalExecutor } from '@pctodl/job-array'

/** Squares numbers, two processes at a time. With a SlurmExecutor instead, the same jobs run on a cluster. */
export async function squares(numbers: readonly number[]): Promise<{ printed: string[]; failed: number }> {
  const printed: string[] = []
  const outcomes = await new LocalExecutor({ concurrency: 2, timeoutMs: 60_000 }).run(
    numbers.map((n) => ({ id: String(n), command: [process.execPath, '--print', `${n} ** 2`] })),
    { onLine: (id, line) => printed.push(`${id}: ${line}`) },
  )
  return { printed: printed.sort(), failed: outcomes.filter(({ exitCode }) => exitCode !== 0).length }
}
