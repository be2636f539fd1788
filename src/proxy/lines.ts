/** The lines of the conversations that are in use, read from the ledger where they are not in memory. */
import { LRUCache } from 'lru-cache'
import type { Ledger } from '../library/ledger.js'
import { saidHash, textIn } from './api.js'
import { fieldsOf, isFields, listOf, textOf } from './json.js'
import { newLine, rememberText, toolsHash, type Entry, type Line } from './line.js'

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
  const line = newLine(conversationId)
  try {
    const context = await ledger.context(conversationId)
    line.maker = context.observed === undefined ? 'ledger' : 'program'
    const entries = context.messages.map((message, at): Entry => ({
      id: context.messageIds[at],
      hash: saidHash({ ...message }),
      role: message.role,
      callId: message.role === 'tool' ? message.tool_call_id : undefined,
    }))
    const first = entries.findIndex(({ role }) => !isInstruction(role))
    const leading = first === -1 ? entries.length : first
    line.instructions = entries.slice(0, leading)
    line.entries = entries.slice(leading)
  } catch (error) {
    if (kindOf(error) === 'NoSuchConversation') return line
    throw error
  }
  const said = new Map<string, Entry>()
  const instructions = new Map<string, Entry>()
  /** The client's list, as its last compaction left it and as it went on. */
  let listed: Entry[] = []
  /** What a compaction put into the list, and what is recorded right behind it. */
  let inserted: { readonly at: number; readonly hash: string }[] = []
  /** Answers in their order, and whether each came to its end and calls nothing. */
  const answers: { readonly id: string; readonly isWhole: boolean }[] = []
  let hasBegun = false
  for await (const event of ledger.log(conversationId)) {
    line.salt = String(event.revision)
    if (event.type === 'MessageAppended') {
      const { messageId, role, content, name, toolCalls, toolCallId, leads, attributes = {} } = event.data
      const hash = saidHash({ role, content, name, tool_calls: toolCalls, tool_call_id: toolCallId })
      hasBegun ||= !isInstruction(role)
      // One in the place of another leads as well, wherever it was recorded.
      const entry = { id: messageId, hash, role, callId: toolCallId }
      if (leads === true || !hasBegun) instructions.set(messageId, entry)
      else {
        said.set(messageId, entry)
        const [next, ...rest] = inserted
        inserted = next?.hash === hash ? rest : []
        if (next?.hash === hash) listed[next.at] = entry
        else listed.push(entry)
      }
      const { tools, interrupted, incomplete } = attributes
      if (tools !== undefined) line.tools = toolsHash(listOf(tools))
      if (role === 'assistant') {
        rememberText(line, textIn(content), messageId)
        const isWhole = interrupted !== true && incomplete !== true && (toolCalls ?? []).length === 0
        answers.push({ id: messageId, isWhole })
      }
    } else if (event.type === 'CompactionObserved') {
      inserted = []
      listed = []
      for (const entry of event.data.context)
        if (entry.kind === 'message') {
          const stays = said.get(entry.messageId)
          if (stays !== undefined) listed.push(stays)
        } else if (entry.kind === 'inserted') {
          const { role, content, name, toolCalls, toolCallId } = entry.body
          const hash = saidHash({ role, content, name, tool_calls: toolCalls, tool_call_id: toolCallId })
          inserted.push({ at: listed.length, hash })
          listed.push({ id: undefined, hash, role, callId: toolCallId })
        }
    } else if (event.type === 'MessagesWithdrawn')
      for (const { messageId } of event.data.messages) if (!said.delete(messageId)) instructions.delete(messageId)
  }
  const last = answers.findLast(({ id }) => said.has(id))
  line.concluded = last?.isWhole === true ? last.id : undefined
  // Where the ledger makes the context, the client's list has all that was said since its own last compaction, whatever
  // the ledger compacted.
  if (line.maker === 'ledger') {
    line.instructions = [...instructions.values()]
    line.entries = listed.filter(({ id }) => id === undefined || said.has(id))
  }
  return line
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
