/** The lines of the conversations that are in use, read from the ledger where they are not in memory. */
import { LRUCache } from 'lru-cache'
import type { Ledger } from '../library/ledger.js'
import { saidHash } from './api.js'
import { fieldsOf, isFields, textOf } from './json.js'
import { newLine, type Entry, type Line } from './line.js'

/** Messages that the lines in memory have together; one of them takes some 200 bytes. */
const MOST_ENTRIES = 500_000

/** The kind of a failure of the ledger; undefined for anything else that was thrown. */
function kindOf(error: unknown): string | undefined {
  const failure = isFields(error) || typeof error === 'object' ? fieldsOf(Reflect.get(error ?? {}, 'failure')) : {}
  return textOf(failure['kind'])
}

const isInstruction = (role: string): boolean => role === 'system' || role === 'developer'

/** Reads a conversation as the client's list has it. */
async function readLine(ledger: Ledger, conversationId: string): Promise<Line> {
  try {
    const context = await ledger.context(conversationId)
    if (context.observed !== undefined) {
      const entries = context.messages.map((message, at): Entry => ({
        id: context.messageIds[at],
        hash: saidHash({ ...message }),
        role: message.role,
        callId: message.role === 'tool' ? message.tool_call_id : undefined,
      }))
      const first = entries.findIndex(({ role }) => !isInstruction(role))
      const leading = first === -1 ? entries.length : first
      return {
        ...newLine(conversationId),
        maker: 'program',
        instructions: entries.slice(0, leading),
        entries: entries.slice(leading),
        salt: String(context.revision),
      }
    }
  } catch (error) {
    if (kindOf(error) === 'NoSuchConversation') return newLine(conversationId)
    throw error
  }
  // Where the ledger makes the context, the client's list has all that was said, compacted or not.
  const said = new Map<string, Entry>()
  const instructions = new Map<string, Entry>()
  let hasBegun = false
  let revision = 0n
  for await (const event of ledger.log(conversationId)) {
    revision = event.revision
    if (event.type === 'MessageAppended') {
      const { messageId, role, content, name, toolCalls, toolCallId, leads } = event.data
      const hash = saidHash({ role, content, name, tool_calls: toolCalls, tool_call_id: toolCallId })
      hasBegun ||= !isInstruction(role)
      // One in the place of another leads as well, wherever it was recorded.
      const to = leads === true || !hasBegun ? instructions : said
      to.set(messageId, { id: messageId, hash, role, callId: toolCallId })
    } else if (event.type === 'MessagesWithdrawn')
      for (const { messageId } of event.data.messages) if (!said.delete(messageId)) instructions.delete(messageId)
  }
  return {
    ...newLine(conversationId),
    maker: 'ledger',
    instructions: [...instructions.values()],
    entries: [...said.values()],
    salt: String(revision),
  }
}

/** Lines in memory, the least used of which are forgotten: the ledger has them. */
export interface Lines {
  get(conversationId: string): Promise<Line>
  /** Those in memory, the last used first. */
  recent(): Iterable<Line>
  /** To be read anew with the next request. */
  forget(conversationId: string): void
  /** The line has grown. */
  keep(line: Line): void
}

export function createLines(ledger: Ledger): Lines {
  const cache = new LRUCache<string, Line>({
    maxSize: MOST_ENTRIES,
    sizeCalculation: (line) => 20 + line.entries.length,
    // A conversation longer than all that is kept would not be kept at all.
    maxEntrySize: MOST_ENTRIES * 4,
  })
  return {
    async get(conversationId) {
      const known = cache.get(conversationId)
      if (known !== undefined) return known
      const line = await readLine(ledger, conversationId)
      cache.set(conversationId, line)
      return line
    },
    recent: () => cache.values(),
    forget(conversationId) {
      cache.delete(conversationId)
    },
    keep(line) {
      cache.set(line.conversationId, line)
    },
  }
}
