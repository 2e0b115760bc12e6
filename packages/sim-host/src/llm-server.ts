import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LlmEngine } from './llm-engine.js'

const MAX_BODY_BYTES = 1024 * 1024
const MAX_TOKENS = 32_768
const MAX_WAITING = 1024
const CHARACTERS_PER_TOKEN = 4

class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

/**
 * Serves those parts of OpenAI's protocol that load generators and governors use. Every reply is marked as simulated.
 */
export async function serveLlm(
  engine: LlmEngine,
  model: string,
  port: number,
): Promise<{ readonly url: string; close(): void }> {
  let requests = 0
  const server = createServer(async (request, response) => {
    response.setHeader('simulated', 'true')
    const json = (value: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    try {
      switch (`${request.method} ${request.url}`) {
        case 'GET /health':
          return response.end()
        case 'GET /metrics':
          return response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(engine.metrics(model))
        case 'GET /v1/models':
          return json({ object: 'list', data: [{ id: model, object: 'model', created: 0, owned_by: 'simulated' }] })
        case 'POST /v1/chat/completions':
          return answer(engine, model, `chatcmpl-${++requests}`, parseChat(await bodyOf(request), model), response)
        default:
          throw new Refusal(404, 'Not Found')
      }
    } catch (error) {
      const status = error instanceof Refusal ? error.status : 400
      // If the connection stayed open, the unread rest of this request's body would be parsed as the next request.
      response.setHeader('connection', 'close')
      json({ error: { message: (error as Error).message, type: 'BadRequestError', code: status } }, status)
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function answer(
  engine: LlmEngine,
  model: string,
  id: string,
  chat: ReturnType<typeof parseChat>,
  response: ServerResponse,
): void {
  if (engine.waiting >= MAX_WAITING) throw new Refusal(503, 'too many requests wait')
  const { promptTokens, maxTokens, stream, includeUsage } = chat
  const usage = { prompt_tokens: promptTokens, completion_tokens: maxTokens, total_tokens: promptTokens + maxTokens }
  const head = { id, model, created: Math.floor(Date.now() / 1000) }
  const send = (choices: readonly object[], more: object = {}) =>
    response.write(
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, usage: null, ...more })}\n\n`,
    )
  const delta = (content: string, finish_reason: string | null = null) =>
    send([{ index: 0, delta: content === '' ? { role: 'assistant', content } : { content }, finish_reason }])
  const abandon = engine.add({
    promptTokens,
    maxTokens,
    onToken(isLast) {
      if (stream) {
        if (!response.headersSent) {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          delta('')
        }
        delta(' token', isLast ? 'length' : null)
        if (!isLast) return
        if (includeUsage) send([], { usage })
        response.end('data: [DONE]\n\n')
      } else if (isLast) {
        const message = { role: 'assistant', content: ' token'.repeat(maxTokens) }
        const choices = [{ index: 0, message, finish_reason: 'length' }]
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }))
      }
    },
    onFailure: () => void response.destroy(),
  })
  response.once('close', abandon)
}

function parseChat(body: string, model: string) {
  const { messages, ...fields } = JSON.parse(body) ?? {}
  if (fields.model !== model) throw new Refusal(404, `The model \`${fields.model}\` does not exist.`)
  if (!Array.isArray(messages) || messages.length === 0) throw new Refusal(400, 'messages: at least one')
  const maxTokens = fields.max_completion_tokens ?? fields.max_tokens ?? 16
  if (!Number.isInteger(maxTokens) || maxTokens < 1 || maxTokens > MAX_TOKENS) {
    throw new Refusal(400, `max_tokens: an integer of 1 to ${MAX_TOKENS}`)
  }
  const characters = messages.reduce((sum, message) => sum + JSON.stringify(message?.content ?? '').length - 2, 0)
  return {
    promptTokens: Math.max(1, Math.ceil(characters / CHARACTERS_PER_TOKEN)),
    maxTokens,
    stream: fields.stream === true,
    includeUsage: fields.stream_options?.include_usage === true,
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    bytes += part.length
    if (bytes > MAX_BODY_BYTES) throw new Refusal(413, `a body of at most ${MAX_BODY_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}
