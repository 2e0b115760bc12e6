import { answers, type Working } from './work/answer-call.js'
import type { CallMessage, CallName, ReplyMessage } from './work/calls.js'

// The page's worker thread, which runs all computations that take longer than a frame. The map contains the running
// calls by id.

const running = new Map<number, AbortController>()
const reply = (message: ReplyMessage) => postMessage(message)

addEventListener('message', async ({ data }: MessageEvent<CallMessage>) => {
  const { id } = data
  if (data.call === 'cancel') {
    running.get(id)?.abort()
    return
  }
  const controller = new AbortController()
  running.set(id, controller)
  const working: Working<CallName> = {
    signal: controller.signal,
    progress: (value: unknown) => reply({ id, kind: 'progress', value }),
  }
  try {
    const answer = answers[data.call] as (question: unknown, working: Working<CallName>) => unknown
    reply({ id, kind: 'answer', value: await answer(data.question, working) })
  } catch (error) {
    reply({ id, kind: 'error', message: error instanceof Error ? error.message : String(error) })
  } finally {
    running.delete(id)
  }
})
