import type { Terminal } from '@pctodl/command-line'
import { detectBoards } from './settle-place.js'
import { benchTasks } from './tasks.js'

/** `--detect-gpu`: the boards of this machine and the tasks that each has. @returns 1 where no board has tasks */
export async function printDetectedGpus(
  { json = false }: { readonly json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const { gpus, notes } = await detectBoards()
  const boards = gpus.map((gpu) => ({ ...gpu, taskIds: taskIdsOf(gpu.key) }))
  if (json) terminal.stdout.write(`${JSON.stringify({ boards, notes }, null, 2)}\n`)
  else {
    for (const { index, name, uuid, key, taskIds } of boards) {
      const tasks = taskIds.length === 0 ? 'no tasks in the matrix' : `--gpu ${key}, tasks ${ranges(taskIds)}`
      terminal.stdout.write(`${index}  ${name} (${uuid}): ${tasks}\n`)
    }
    for (const note of notes) terminal.stderr.write(`${note}\n`)
  }
  return boards.some(({ taskIds }) => taskIds.length > 0) ? 0 : 1
}

function taskIdsOf(key: string | null): number[] {
  return benchTasks.filter(({ board }) => board === key).map(({ id }) => id)
}

/** `[1, 2, 3, 29]` as `1-3, 29`. */
function ranges(ids: readonly number[]): string {
  const parts: [first: number, last: number][] = []
  for (const id of ids) {
    const last = parts.at(-1)
    if (last && last[1] === id - 1) last[1] = id
    else parts.push([id, id])
  }
  return parts.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ')
}
