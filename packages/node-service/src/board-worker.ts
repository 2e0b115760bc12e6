import { KeptBoard, type KeptBoardOptions } from './kept-board.js'

// The program of a board's process (see `BoardProcess`). It ignores signals that its process group or terminal may get,
// and ends when the service ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
const board = new KeptBoard(JSON.parse(process.argv[2]!) as KeptBoardOptions)

/** If the service has exited, the answer is discarded. The `disconnect` event then ends this process. */
const answer = (reply: object) => process.send?.(reply, undefined, undefined, () => {})

process.on('message', async ({ id, ask, args }: { id: number; ask: keyof KeptBoard; args: unknown[] }) => {
  try {
    const result = await (board[ask] as (...args: unknown[]) => unknown)(...args)
    answer({ id, result })
  } catch (error) {
    const { code = 'INTERNAL', message, nvmlCode } = error as Error & { code?: string; nvmlCode?: number }
    answer({ id, error: { code, message, nvmlCode } })
  }
})
process.once('disconnect', async () => {
  await board.close()
  process.exit()
})
