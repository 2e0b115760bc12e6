import { type ChildProcess, fork } from 'node:child_process'

/**
 * Distributes orders over worker processes. Each worker gets one order at a time.
 *
 * @param program program of the workers: it receives an order as a message and sends its answer as a message
 * @param onAnswer called after each answer, with the number of orders not yet begun
 * @returns the answers in the order of the orders
 * @throws Error if a worker exits
 */
export async function runInWorkers<Order, Answer>(
  program: string,
  workers: number,
  orders: readonly Order[],
  onAnswer: (order: Order, left: number) => void,
): Promise<Answer[]> {
  const answers: Answer[] = []
  let next = 0
  const work = async () => {
    const worker = fork(program, { execArgv: process.execArgv })
    try {
      while (next < orders.length) {
        const i = next++
        answers[i] = await answerOf<Answer>(worker, orders[i]!)
        onAnswer(orders[i]!, orders.length - next)
      }
    } finally {
      worker.kill()
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  return answers
}

function answerOf<Answer>(worker: ChildProcess, order: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) =>
      reject(new Error(`a worker ended with code ${code} in ${JSON.stringify(order)}`))
    worker.once('exit', onExit)
    worker.once('message', (answer) => {
      worker.off('exit', onExit)
      resolve(answer as Answer)
    })
    worker.send(order as object)
  })
}
