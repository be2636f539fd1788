/**
 * Offers `memory_read` to the model and runs its calls here, without the client. An answer is buffered until it is
 * complete, since a call may come at its end. If it calls `memory_read`, the proxy sends the results upstream and waits for
 * the next answer, until an answer does not call it.
 */
import type { IncomingMessage } from 'node:http'
import type { AgentTool } from '../../library/ledger.js'
import { callsOf, type Answer, type Api } from '../../application/model-apis/api.js'
import { createAnswerCopy } from './answer-copy.js'
import { fieldsOf, listOf, type Fields } from '../../application/model-apis/json.js'

/** Rounds in which the model may read memory before it has to answer. */
const MAX_READS = 4

const NOT_RUN = 'This was not run: memory_read is answered by itself. Call this tool again if you still need it.'

/** A call of `memory_read` that preceded an answer. */
interface MemoryRead {
  readonly arguments: string
  readonly found: string
}

/** An answer that was buffered until its end. */
export interface BufferedAnswer {
  readonly incoming: IncomingMessage
  readonly bytes: Uint8Array
  /** Undefined if it could not be read. */
  readonly answer: Answer | undefined
  /** Why it could not be read. */
  readonly unreadable: string | undefined
  /** Upstream cut it off. */
  readonly isCut: boolean
  readonly reads: readonly MemoryRead[]
}

/** Reads an answer to its end. */
async function bufferAnswer(api: Api, incoming: IncomingMessage): Promise<Omit<BufferedAnswer, 'reads'>> {
  const copy = createAnswerCopy(api, incoming.headers['content-type'] ?? '', incoming.headers['content-encoding'])
  const chunks: Uint8Array[] = []
  let isCut = false
  try {
    for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
      chunks.push(chunk)
      copy.take(chunk)
    }
  } catch {
    isCut = true
  }
  const answer = await copy.end()
  return { incoming, bytes: Buffer.concat(chunks), answer, unreadable: copy.unreadable(), isCut }
}

/** Whether a request already has a tool of this name. */
export const hasTool = (tools: readonly unknown[], name: string): boolean =>
  listOf(tools).some((tool) => fieldsOf(tool)['name'] === name || fieldsOf(fieldsOf(tool)['function'])['name'] === name)

/** Sends requests upstream until an answer does not read memory. */
export async function sendWithMemory(
  api: Api,
  request: Fields,
  tool: AgentTool,
  send: (body: Fields) => Promise<IncomingMessage>,
): Promise<BufferedAnswer> {
  const reads: MemoryRead[] = []
  let body = request
  for (let round = 0; ; round += 1) {
    const offered = round < MAX_READS ? api.withTool(body, tool) : body
    const incoming = await send(offered)
    const buffered = await bufferAnswer(api, incoming)
    const { answer } = buffered
    const calls = answer?.isComplete === true ? callsOf(answer) : []
    if (answer === undefined || !calls.some(({ name }) => name === tool.name) || round >= MAX_READS)
      return { ...buffered, reads }
    const results = []
    for (const call of calls) {
      const isRead = call.name === tool.name
      const text = isRead ? await tool.execute(call.arguments) : NOT_RUN
      if (isRead) reads.push({ arguments: call.arguments, found: text })
      results.push({ call, text })
    }
    body = api.withToolResults(body, answer, results)
  }
}
