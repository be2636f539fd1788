/** The records of a session of Gemini CLI, and which of them the context of the model has. */
import { contentText, type MessageBody } from '../../domain/values/message.js'
import { fingerprintOf, messageIn, type Call, type GeminiMessage } from './gemini-messages.js'
import type { CompactionItem, ContextEntry, SourceLocation } from './transcript.js'

/** The state of a record: fingerprints of its content, not the content itself. */
export interface RecordState {
  readonly role: GeminiMessage['role']
  content: string | undefined
  /** The results of its calls; undefined while a call has no result. */
  readonly calls: Map<string, { readonly part: number; fingerprint: string } | undefined>
  /** Number of messages emitted for it. */
  parts: number
  /** Ids of the calls that have their result in this record. */
  readonly answers: string[]
  /** Whether its usage has been reported. */
  hasUsage: boolean
  /** Whether a message of it was yielded. */
  hasMessage: boolean
}

export const newRecordState = (role: GeminiMessage['role']): RecordState => ({
  role,
  content: undefined,
  calls: new Map(),
  parts: 0,
  answers: [],
  hasUsage: false,
  hasMessage: false,
})

/** Equal for a message and its copy with another id. */
const matchKey = (role: string, content: string | undefined, callIds: Iterable<string>): string =>
  JSON.stringify([role, content, ...callIds])

/** A message of a record. */
export interface Reply {
  readonly body: MessageBody
  readonly isError?: boolean | undefined
}

export const answerBody = (content: MessageBody['content'], calls: readonly Call[]): MessageBody => ({
  role: 'assistant',
  content,
  ...(calls.length === 0 ? {} : { toolCalls: calls.map(({ call }) => call) }),
})

/** The records so far. */
export class GeminiRecords {
  readonly known = new Map<string, RecordState>()
  /** Id → role of the first record with it. */
  private readonly roles = new Map<string, GeminiMessage['role']>()
  /** Id in a list → id of the same message in an earlier record. */
  private readonly aliases = new Map<string, string>()
  /** Calls that have a result in any record of the context. */
  readonly answered = new Set<string>()
  /** Ids of the records in the model's context, in order. */
  live: string[] = []
  /** Record id → messages that a compression inserted. */
  inserted = new Map<string, readonly MessageBody[]>()
  private snapshots = 0

  /** The id under which a message is known. */
  idOf(id: string): string {
    return this.aliases.get(id) ?? id
  }

  /** Whether a message of a record was yielded. */
  hasMessage(id: string): boolean {
    return this.known.get(id)?.hasMessage === true
  }

  /** Whether a list has only messages that are known, and lacks the last ones. */
  isBeginning(list: readonly unknown[]): boolean {
    const ids = new Set(list.flatMap((value) => this.messageOf(value)?.id ?? []))
    const removed = this.live.filter((id) => !ids.has(id))
    return removed.length > 0 && isTail(removed, this.live) && [...ids].every((id) => this.known.has(id))
  }

  /** The results that are new. */
  results(message: GeminiMessage, state: RecordState): readonly Reply[] {
    const first = state.parts
    return message.calls
      .filter(
        ({ call, result }) =>
          result !== undefined && state.calls.get(call.id) === undefined && !this.answered.has(call.id),
      )
      .map(({ call, result }, at) => {
        const content = result?.content ?? ''
        state.calls.set(call.id, { part: first + at, fingerprint: fingerprintOf(content) })
        this.answered.add(call.id)
        state.answers.push(call.id)
        return { body: { role: 'tool', content, toolCallId: call.id }, isError: result?.isError }
      })
  }

  /** Forgets records, so that they are emitted again if they return. */
  forget(ids: readonly string[]): void {
    for (const id of ids) {
      for (const callId of this.known.get(id)?.answers ?? []) this.answered.delete(callId)
      this.known.delete(id)
      this.inserted.delete(id)
    }
  }

  /** A compaction with the current context. @param summary the record that replaces the removed messages */
  compaction(summary: GeminiMessage | undefined, at: string | undefined, where: SourceLocation): CompactionItem {
    this.snapshots += 1
    return {
      kind: 'compaction',
      sourceId: `$set-${String(this.snapshots)}`,
      at,
      trigger: 'unknown',
      summary: summary === undefined ? { kind: 'none' } : { kind: 'text', text: contentText(summary.content) },
      context: this.live.flatMap((id): readonly ContextEntry[] => {
        const bodies = (this.inserted.get(id) ?? []).map((body, part) => ({
          kind: 'inserted' as const,
          body,
          ...(id === summary?.id && part === 0 ? { isSummary: true as const } : {}),
        }))
        return this.hasMessage(id) ? [...bodies, { kind: 'message', sourceId: id }] : bodies
      }),
      where,
    }
  }

  /** The messages of a record that a compression inserted, with the results of its calls. */
  insert(message: GeminiMessage): readonly MessageBody[] {
    const { id, role, content, calls, results: responses } = message
    const state = newRecordState(role)
    this.known.set(id, state)
    const tools = [
      ...calls.map(({ call, result }) => ({ callId: call.id, result })),
      ...responses.map((result) => ({ callId: result.callId, result })),
    ]
    for (const { callId } of tools) state.calls.set(callId, undefined)
    const answers = tools.flatMap(({ callId, result }): readonly MessageBody[] => {
      if (result === undefined || this.answered.has(callId)) return []
      this.answered.add(callId)
      state.answers.push(callId)
      return [{ role: 'tool', content: result.content, toolCallId: callId }]
    })
    const body = role === 'user' ? { role, content: content ?? null } : answerBody(content ?? null, calls)
    const bodies = content === undefined && (role === 'user' || calls.length === 0) ? [] : [body]
    const inserted = role === 'user' ? [...answers, ...bodies] : [...bodies, ...answers]
    // Later records of the same message only add results.
    state.parts = inserted.length === 0 ? 0 : 1
    return inserted
  }

  /** The message of a record. One that has the id of a message with another role gets an id of its own. */
  messageOf(value: unknown): GeminiMessage | undefined {
    const message = messageIn(value)
    if (message === undefined) return undefined
    const { id, role } = message
    const knownRole = this.roles.get(id) ?? role
    this.roles.set(id, knownRole)
    const ownId = knownRole === role ? id : `${id}/${role}`
    return { ...message, id: this.aliases.get(ownId) ?? ownId }
  }

  /** Finds the messages of a list that have another id than in the records before it. */
  matchCopies(messages: readonly GeminiMessage[]): void {
    const named = new Set(messages.map(({ id }) => id))
    const candidates = this.live.filter((id) => !named.has(id) && !this.inserted.has(id))
    for (const { id, role, fingerprint, calls, content } of messages.toReversed()) {
      if (this.known.has(id) || (content === undefined && calls.length === 0)) continue
      const key = matchKey(
        role,
        fingerprint,
        calls.map(({ call }) => call.id),
      )
      const at = candidates.findLastIndex((candidate) => {
        const state = this.known.get(candidate)
        return state !== undefined && matchKey(state.role, state.content, state.calls.keys()) === key
      })
      const [original] = at === -1 ? [] : candidates.splice(at, 1)
      if (original !== undefined) this.aliases.set(id, original)
    }
  }

  /** Replaces the messages of the context by those of a list. Returns the record that replaces the removed ones. */
  compress(messages: readonly GeminiMessage[], removed: readonly string[]): GeminiMessage | undefined {
    // Only results of messages that stay are in the context.
    for (const id of removed) for (const callId of this.known.get(id)?.answers ?? []) this.answered.delete(callId)
    const bodies = messages.flatMap((one): (readonly [string, readonly MessageBody[]])[] => {
      const before = this.inserted.get(one.id)
      if (before !== undefined) return [[one.id, before]]
      return this.known.has(one.id) ? [] : [[one.id, this.insert(one)]]
    })
    this.inserted = new Map(bodies.filter(([, messageBodies]) => messageBodies.length > 0))
    const ids = [...new Set(messages.map(({ id }) => id))]
    this.live = ids.filter((id) => this.inserted.has(id) || this.hasMessage(id))
    return messages.find(({ id, role, content }) => this.inserted.has(id) && role === 'user' && content !== undefined)
  }
}

/** Whether `tail` is the end of `all`. */
export const isTail = (tail: readonly string[], all: readonly string[]): boolean =>
  tail.every((id, at) => all[all.length - tail.length + at] === id)
