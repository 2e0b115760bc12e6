import { KeptBoard, type KeptBoardOptions } from './kept-board.js'

// All calls of NVML about one board (`BoardProcess`). What is typed at the service's terminal, or sent to its group, is not for us.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
const board = new KeptBoard(JSON.parse(process.argv[2]!) as KeptBoardOptions)

/** A service that has gone is told nothing: it hangs up, and that ends us. */
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
