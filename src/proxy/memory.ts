/**
 * `memory_read` offered to the model, and answered here: the client never hears of it. An answer is held back until it is
 * whole, since a call may stand at its end; where it reads memory, upstream is asked on with what was found, until an
 * answer comes that reads no more.
 */
import type { IncomingMessage } from 'node:http'
import type { AgentTool } from '../library/ledger.js'
import { callsOf, type Answer, type Api } from './api.js'
import { createCopy } from './copy.js'
import { fieldsOf, listOf, type Fields } from './json.js'

/** So often the model may read before it has to answer. */
const MOST_READS = 4

const NOT_RUN = 'This was not run: memory_read is answered by itself. Call this tool again if you still need it.'

/** What memory was read on the way to an answer. */
interface MemoryRead {
  readonly arguments: string
  readonly found: string
}

/** An answer that was held back until it was whole. */
export interface Held {
  readonly incoming: IncomingMessage
  readonly bytes: Uint8Array
  /** Undefined where it could not be read. */
  readonly answer: Answer | undefined
  /** It broke off. */
  readonly isCut: boolean
  readonly reads: readonly MemoryRead[]
}

/** Reads an answer to its end. */
async function hold(api: Api, incoming: IncomingMessage): Promise<Omit<Held, 'reads'>> {
  const copy = createCopy(api, incoming.headers['content-type'] ?? '', incoming.headers['content-encoding'])
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
  return { incoming, bytes: Buffer.concat(chunks), answer: await copy.end(), isCut }
}

/** Whether a client has a tool of this name itself. */
export const hasTool = (tools: readonly unknown[], name: string): boolean =>
  listOf(tools).some((tool) => fieldsOf(tool)['name'] === name || fieldsOf(fieldsOf(tool)['function'])['name'] === name)

/** Asks upstream until an answer comes that reads no memory. */
export async function askWithMemory(
  api: Api,
  asked: Fields,
  tool: AgentTool,
  send: (body: Fields) => Promise<IncomingMessage>,
): Promise<Held> {
  const reads: MemoryRead[] = []
  let body = asked
  for (let round = 0; ; round += 1) {
    const offered = round < MOST_READS ? api.offer(body, tool) : body
    const incoming = await send(offered)
    const held = await hold(api, incoming)
    const { answer } = held
    const calls = answer?.isComplete === true ? callsOf(answer) : []
    if (answer === undefined || !calls.some(({ name }) => name === tool.name) || round >= MOST_READS)
      return { ...held, reads }
    const results = []
    for (const call of calls) {
      const isRead = call.name === tool.name
      const text = isRead ? await tool.execute(call.arguments) : NOT_RUN
      if (isRead) reads.push({ arguments: call.arguments, found: text })
      results.push({ call, text })
    }
    body = api.follow(body, answer, results)
  }
}
