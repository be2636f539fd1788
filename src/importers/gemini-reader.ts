/**
 * Reads a session of Gemini CLI, from either of its forms: one JSON object, or lines that grow. In lines
 * - a message that is there again replaces the one before: what it adds (calls, results) are further messages of the
 *   same record, and what it changes is an edit;
 * - `$rewindTo` drops a message and everything behind it;
 * - `$set.messages` puts a whole list in the place of the one before. Gemini CLI has no record of a compression: it
 *   writes the list that it goes on with. A list that lacks messages is a compaction, and its new messages are what
 *   stands for them; where only contents are others, outputs were masked.
 */
import { basename, dirname } from 'node:path'
import { z } from 'zod'
import { contentText, type MessageBody } from '../domain/values/message.js'
import { isFields, refusalOf, textIn, timeIn, type Fields } from './bodies.js'
import { messageIn, printOf, type Call, type GeminiMessage } from './gemini-messages.js'
import type {
  ConversationItem,
  ContextEntry,
  EarlierUsage,
  EditItem,
  Parent,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  Where,
} from './transcript.js'

const text = z.string().optional().catch(undefined)
const headerSchema = z.looseObject({ sessionId: z.string().min(1), startTime: text, kind: text, summary: text })

/** What is remembered of a record: prints of what it said, and never the words. */
interface Known {
  content: string | undefined
  /** The results of its calls; undefined while there is none. */
  readonly calls: Map<string, { readonly part: number; print: string } | undefined>
  /** How many messages it said. */
  parts: number
  /** The calls whose results it holds. */
  readonly answers: string[]
  /** What it took was told. */
  hasUsage: boolean
}

const nothingSaid = (): Known => ({ content: undefined, calls: new Map(), parts: 0, answers: [], hasUsage: false })

type Why = EditItem['why']

interface Said {
  readonly body: MessageBody
  readonly isError?: boolean | undefined
}

const answerBody = (content: MessageBody['content'], calls: readonly Call[]): MessageBody => ({
  role: 'assistant',
  content,
  ...(calls.length === 0 ? {} : { toolCalls: calls.map(({ call }) => call) }),
})

/** Who called a sub-agent: its file lies in a folder with the name of the session that did. */
function parentOf(path: string, kind: string | undefined, sessionId: string): Parent | undefined {
  const folder = basename(dirname(path))
  if (kind !== 'subagent' || folder === 'chats' || folder === sessionId) return undefined
  return { sourceId: folder, how: 'sub-agent' }
}

/**
 * Reads one session.
 * @param givenPath of the session, whose name is its id where no record tells one
 */
export function createGeminiReader(givenPath: string): TranscriptReader {
  const path = givenPath.replaceAll('\\', '/')
  const known = new Map<string, Known>()
  /** Calls that have a result, in whatever record. */
  const answered = new Set<string>()
  /** The ids of the records that the model is given, in their order. */
  let live: string[] = []
  /** Of those, what a compression put there. */
  let put = new Map<string, readonly MessageBody[]>()
  let conversation: ConversationItem | undefined
  let snapshots = 0
  /** What an answer took that was told when it was said already, for the next message. */
  let earlierUsage: EarlierUsage | undefined

  function* begin(header: Fields, where: Where): Generator<TranscriptItem> {
    const { sessionId, startTime, kind, summary } = headerSchema.parse(header)
    if (conversation?.sourceId === sessionId && (summary === undefined || conversation.title === summary)) {
      yield { kind: 'left-out', what: 'metadata', where }
      return
    }
    conversation = {
      kind: 'conversation',
      sourceId: sessionId,
      parent: parentOf(path, kind, sessionId) ?? conversation?.parent,
      title: textIn(summary),
      startedAt: timeIn(startTime) ?? conversation?.startedAt,
      where,
    }
    yield conversation
  }

  function* ensureBegun(where: Where): Generator<TranscriptItem> {
    if (conversation === undefined) yield* begin({ sessionId: basename(path).replace(/\.jsonl?$/u, '') }, where)
  }

  /** Says messages of a record, behind those that it said before. */
  function* say(message: GeminiMessage, said: readonly Said[], where: Where): Generator<TranscriptItem> {
    const state = known.get(message.id)
    if (state === undefined) return
    for (const { body, isError } of said) {
      const part = state.parts
      state.parts += 1
      const refusal = refusalOf(body)
      if (refusal !== undefined) {
        yield { kind: 'damage', detail: refusal, isCut: false, where }
        continue
      }
      const { id, at, model, usage } = message
      const answer = body.role === 'assistant' ? { answerId: id, model, usage } : {}
      if (body.role === 'assistant' && usage !== undefined) state.hasUsage = true
      const earlier = earlierUsage
      earlierUsage = undefined
      yield {
        kind: 'message',
        sourceId: id,
        part,
        at,
        body,
        ...(message.isByProgram && body.role === 'user' ? { byProgram: true } : {}),
        ...(isError === true ? { isError } : {}),
        ...answer,
        ...(earlier === undefined ? {} : { earlierUsage: earlier }),
        where,
      }
    }
  }

  /** The results among calls that were not there before. */
  function results(message: GeminiMessage, state: Known): readonly Said[] {
    const first = state.parts
    return message.calls
      .filter(
        ({ call, result }) => result !== undefined && state.calls.get(call.id) === undefined && !answered.has(call.id),
      )
      .map(({ call, result }, at) => {
        const content = result?.content ?? ''
        state.calls.set(call.id, { part: first + at, print: printOf(content) })
        answered.add(call.id)
        state.answers.push(call.id)
        return { body: { role: 'tool', content, toolCallId: call.id }, isError: result?.isError }
      })
  }

  /** A record that is new. */
  function* open(message: GeminiMessage, where: Where): Generator<TranscriptItem> {
    const state = nothingSaid()
    known.set(message.id, state)
    yield* extend(message, state, where)
    if (state.parts > 0) live.push(message.id)
    else yield { kind: 'left-out', what: message.role === 'user' ? 'user' : 'gemini', where }
  }

  /** What a record says more than it did. */
  function* extend(message: GeminiMessage, state: Known, where: Where): Generator<TranscriptItem> {
    const { role, content, calls } = message
    const fresh = calls.filter(({ call }) => !state.calls.has(call.id))
    for (const { call } of fresh) state.calls.set(call.id, undefined)
    const isFirst = state.parts === 0
    if (isFirst) state.content = message.print
    if (role === 'assistant') {
      const words = isFirst ? content : undefined
      if (words !== undefined || fresh.length > 0)
        yield* say(message, [{ body: answerBody(words ?? null, fresh) }], where)
      yield* say(message, results(message, state), where)
      return
    }
    const own = message.results.filter(({ callId }) => !answered.has(callId))
    for (const { callId } of own) {
      answered.add(callId)
      state.answers.push(callId)
    }
    const said = own.map((result): Said => ({
      body: { role: 'tool', content: result.content, toolCallId: result.callId },
      isError: result.isError,
    }))
    const words: readonly Said[] = isFirst && content !== undefined ? [{ body: { role, content } }] : []
    yield* say(message, [...said, ...words], where)
  }

  /** A record that was there before, and what it says otherwise now. */
  function* update(message: GeminiMessage, state: Known, why: Why, where: Where): Generator<TranscriptItem> {
    const { id, at, content, print, calls } = message
    if (state.parts > 0 && print !== state.content) {
      state.content = print
      yield { kind: 'edit', sourceId: id, part: 0, content: content ?? null, why, at, where }
    }
    for (const { call, result } of calls) {
      const before = state.calls.get(call.id)
      const now = result?.content ?? null
      if (before === undefined || printOf(now) === before.print) continue
      before.print = printOf(now)
      yield {
        kind: 'edit',
        sourceId: id,
        part: before.part,
        content: now,
        why: now === null ? 'pruned' : why,
        at,
        where,
      }
    }
    const parts = state.parts
    const before = state.hasUsage
    yield* extend(message, state, where)
    // The second record of a message may be the one that tells what it took.
    if (message.usage !== undefined && !before && !state.hasUsage && parts > 0) {
      state.hasUsage = true
      earlierUsage = { answerId: id, usage: message.usage }
    }
    if (parts === 0 && state.parts > 0) live.push(id)
  }

  /** Forgets records, so that they are said once more if they come back. */
  function forget(ids: readonly string[]): void {
    for (const id of ids) {
      for (const callId of known.get(id)?.answers ?? []) answered.delete(callId)
      known.delete(id)
      put.delete(id)
    }
  }

  /** Messages that the model is given no more, without anything in their place. */
  function* withdraw(ids: readonly string[], at: string | undefined, where: Where): Generator<TranscriptItem> {
    const gone = new Set(ids)
    live = live.filter((id) => !gone.has(id))
    const sourceIds = ids.filter((id) => !put.has(id))
    forget(ids)
    if (sourceIds.length > 0) yield { kind: 'withdrawal', sourceIds, at, where }
    // A summary is no message that could be withdrawn: what remains is said as a context.
    if (sourceIds.length < ids.length) yield compaction(undefined, at, where)
    if (ids.length === 0) yield { kind: 'left-out', what: '$rewindTo', where }
  }

  /** The context as it is now. @param summary the record that stands for what left */
  function compaction(summary: GeminiMessage | undefined, at: string | undefined, where: Where): TranscriptItem {
    snapshots += 1
    return {
      kind: 'compaction',
      sourceId: `$set-${String(snapshots)}`,
      at,
      trigger: 'unknown',
      summary: summary === undefined ? { kind: 'none' } : { kind: 'text', text: contentText(summary.content) },
      context: live.flatMap((id): readonly ContextEntry[] => {
        const bodies = put.get(id)
        if (bodies === undefined) return [{ kind: 'message', sourceId: id }]
        return bodies.map((body, part) => ({
          kind: 'inserted',
          body,
          ...(id === summary?.id && part === 0 ? { isSummary: true } : {}),
        }))
      }),
      where,
    }
  }

  /** What a record says that a compression put there, with the results of its calls. */
  function bodiesOf({ role, content, calls, results: own }: GeminiMessage): readonly MessageBody[] {
    const tools = [
      ...calls.map(({ call, result }) => ({ callId: call.id, result })),
      ...own.map((result) => ({ callId: result.callId, result })),
    ]
    const answers = tools.flatMap(({ callId, result }): readonly MessageBody[] => {
      if (result === undefined || answered.has(callId)) return []
      answered.add(callId)
      return [{ role: 'tool', content: result.content, toolCallId: callId }]
    })
    if (role === 'user') return [...answers, ...(content === undefined ? [] : [{ role, content }])]
    return [...(content === undefined && calls.length === 0 ? [] : [answerBody(content ?? null, calls)]), ...answers]
  }

  /** A list in the place of the one before. */
  function* replace(list: readonly unknown[], at: string | undefined, where: Where): Generator<TranscriptItem> {
    const given = list.flatMap((value) => messageIn(value) ?? [])
    const ids = new Set(given.map(({ id }) => id))
    const gone = live.filter((id) => !ids.has(id))
    const isNew = ({ id, content }: GeminiMessage): boolean => !known.has(id) && content !== undefined
    // Where the last messages are gone and nothing is new, somebody took them back.
    const isCompaction = gone.length > 0 && (given.some(isNew) || !isTail(gone, live))
    if (gone.length > 0 && !isCompaction) yield* withdraw(gone, at, where)
    if (isCompaction) {
      const bodies = given.map((one) => [one.id, put.get(one.id) ?? (known.has(one.id) ? [] : bodiesOf(one))] as const)
      put = new Map(bodies.filter(([, said]) => said.length > 0))
      for (const id of put.keys()) known.set(id, nothingSaid())
      live = given.map(({ id }) => id).filter((id) => put.has(id) || (known.get(id)?.parts ?? 0) > 0)
      yield compaction(
        given.find(({ id, role, content }) => put.has(id) && role === 'user' && content !== undefined),
        at,
        where,
      )
    }
    for (const [index, value] of list.entries()) {
      const id = messageIn(value)?.id
      if (id === undefined || !put.has(id))
        yield* record(value, 'masked', { ...where, path: `$set.messages[${String(index)}]` })
    }
  }

  /** A record of the user, of the model, or of the program. */
  function* record(value: unknown, why: Why, where: Where): Generator<TranscriptItem> {
    const given = messageIn(value)
    if (given === undefined) {
      yield { kind: 'left-out', what: (isFields(value) ? textIn(value['type']) : undefined) ?? 'record', where }
      return
    }
    const state = known.get(given.id)
    if (state === undefined) {
      yield* open(given, where)
      return
    }
    const items = put.has(given.id) ? [] : [...update(given, state, why, where)]
    yield* items
    // Said once more, with nothing new in it but what it took.
    if (items.length === 0) yield { kind: 'left-out', what: given.role === 'user' ? 'user' : 'gemini', where }
  }

  function* take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    if (!isFields(value)) {
      yield { kind: 'left-out', what: 'record', where }
      return
    }
    const { $set: changes, $rewindTo: rewindTo } = value
    if (typeof rewindTo === 'string') {
      // Gemini CLI drops everything where it does not know the message.
      yield* withdraw(live.slice(Math.max(live.indexOf(rewindTo), 0)), undefined, where)
    } else if (isFields(changes)) {
      yield* ensureBegun(where)
      const { messages, summary, lastUpdated } = changes
      if (textIn(summary) !== undefined && conversation !== undefined)
        yield* begin({ sessionId: conversation.sourceId, summary }, where)
      const items = Array.isArray(messages) ? [...replace(messages, timeIn(lastUpdated), where)] : []
      yield* items
      if (items.length === 0 && textIn(summary) === undefined) yield { kind: 'left-out', what: '$set', where }
    } else if (textIn(value['sessionId']) !== undefined && value['id'] === undefined) {
      yield* begin(value, where)
      const { messages } = value
      if (!Array.isArray(messages)) return
      for (const [index, one] of messages.entries())
        yield* record(one, 'replaced', { ...where, path: `messages[${String(index)}]` })
    } else {
      yield* ensureBegun(where)
      yield* record(value, 'replaced', where)
    }
  }

  return { take, end: () => [] }
}

/** Whether the ones are the last of the others. */
const isTail = (tail: readonly string[], all: readonly string[]): boolean =>
  tail.every((id, at) => all[all.length - tail.length + at] === id)
