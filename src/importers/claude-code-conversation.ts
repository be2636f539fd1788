/** One conversation of Claude Code, record by record: what each says, and what it changes of what was said before. */
import { z } from 'zod'
import { sha256 } from '../domain/values/hash.js'
import { contentText, type MessageBody, type ToolCall } from '../domain/values/message.js'
import { createBranches, type Branches, type Kept, type Place, type Step } from './claude-code-branches.js'
import { answerSaid, attachmentSaid, userSaid, type ResultSaid, type UserSaid } from './claude-code-content.js'
import { createHeld, type Held } from './held-messages.js'
import { nameOf, timeOf, type ClaudeRecord, type ClaudeUsage } from './claude-code-records.js'
import type {
  CompactionItem,
  ContextEntry,
  ConversationItem,
  MessageItem,
  TranscriptItem,
  Usage,
  Where,
} from './transcript.js'

/**
 * What stands in a context in the place of a result that a microcompaction cleared: the transcript does not tell what
 * the model was given there.
 */
const CLEARED_RESULT = '[cleared by the program; its transcript does not say what stands in its place]'

/** A record, with the id that it has or is given, and where it stands. */
export interface Taken {
  readonly record: ClaudeRecord
  readonly id: string
  readonly where: Where
}

/** What is remembered of a conversation: ids, hashes, and what was said of late. */
export interface Conversation {
  readonly opening: Omit<ConversationItem, 'where'>
  /** The file begins behind its start. */
  readonly beginsLate: boolean
  readonly branches: Branches
  readonly held: Held
  /** The record that made a call. */
  readonly callers: Map<string, string>
  /** The message that says the result of a call. */
  readonly results: Map<string, { readonly sourceId: string; readonly part: number }>
  /** Calls to which the program gave no id, by the record that made them: their results come in the same order. */
  readonly unnamed: Map<string, string[]>
  /** Calls, by a hash of the prompt that they give to a sub-agent. */
  readonly prompts: Map<string, string[]>
  /** What the model is given in the place of messages that were cleared. */
  readonly cleared: Map<string, MessageBody['content']>
  /** The compaction that each summary belongs to, and its place in the context of it. */
  readonly summaries: Map<string, { readonly compactionId: string; readonly at: number }>
  /** A compaction whose summary is still to come. */
  boundary: Taken | undefined
  /** The last answer, and the most that one of its lines said that it took: the figures grow from line to line. */
  answer: { readonly id: string; readonly usage: Usage } | undefined
}

export const createConversation = (opening: Conversation['opening'], beginsLate: boolean): Conversation => ({
  opening,
  beginsLate,
  branches: createBranches(),
  held: createHeld(),
  callers: new Map(),
  results: new Map(),
  unnamed: new Map(),
  prompts: new Map(),
  cleared: new Map(),
  summaries: new Map(),
  boundary: undefined,
  answer: undefined,
})

/** A message, before it is told where it stands. */
type Message = Pick<MessageItem, 'body' | 'byProgram' | 'answerId' | 'model' | 'usage' | 'isError'>

const keyOf = (sourceId: string, part: number): string => `${sourceId} ${String(part)}`

const timed = ({ record }: Taken): { readonly at?: string } => {
  const at = timeOf(record.timestamp)
  return at === undefined ? {} : { at }
}

function push(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

/** The next value of a list, which is taken from it. */
export const takeNext = (lists: Map<string, string[]>, key: string): string | undefined => lists.get(key)?.shift()

/** A record that says nothing of the conversation. */
function* leaveOut({ branches, boundary }: Conversation, { record, id, where }: Taken): Generator<TranscriptItem> {
  if (boundary === undefined) branches.pass(id, record.parentUuid)
  else branches.passBehind(id, boundary.id)
  yield { kind: 'left-out', what: nameOf(record), where }
}

/** A record that the program wrote once more. */
function* repeat({ record, where }: Taken): Generator<TranscriptItem> {
  yield { kind: 'left-out', what: `repeated ${nameOf(record)}`, where }
}

/** The edit of a message that was cleared. */
function edit(conversation: Conversation, sourceId: string, part: number, taken: Taken): TranscriptItem {
  const content = conversation.cleared.get(keyOf(sourceId, part)) ?? null
  return { kind: 'edit', sourceId, part, content, why: 'pruned', ...timed(taken), where: taken.where }
}

/** What it means that the program went to another branch. */
function* moved(conversation: Conversation, steps: readonly Step[], taken: Taken): Generator<TranscriptItem> {
  const { where } = taken
  let lost = 0
  for (const step of steps) {
    if (step.kind === 'undo') yield { kind: 'undo', sourceIds: step.ids, ...timed(taken), where }
    else if (step.kind === 'withdraw') yield { kind: 'withdrawal', sourceIds: step.ids, ...timed(taken), where }
    else {
      const items = conversation.held.of(step.id)
      if (items === undefined) lost += 1
      for (const item of items ?? []) {
        yield item
        if (item.kind === 'message' && conversation.cleared.has(keyOf(item.sourceId, item.part)))
          yield edit(conversation, item.sourceId, item.part, taken)
      }
    }
  }
  if (lost > 0)
    yield {
      kind: 'damage',
      detail: `returns to a branch that was left, and ${String(lost)} of its messages and compactions lie too far back to be said again`,
      isCut: false,
      where,
    }
}

/** The messages of a record, in their order. */
function itemsOf(messages: readonly Message[], taken: Taken): MessageItem[] {
  return messages.map((message, part) => ({
    kind: 'message',
    sourceId: taken.id,
    part,
    ...timed(taken),
    ...message,
    where: taken.where,
  }))
}

/** How a record takes part in the conversation. */
type Speech =
  /** Somebody's words: who goes back begins with them. */
  | { readonly kind: 'prompt' }
  | { readonly kind: 'answer'; readonly group: string }
  | { readonly kind: 'result'; readonly caller: string }
  /** What comes between: a reminder, a result of a call that is not in the file. */
  | { readonly kind: 'beside' }

/** Where the program has to be for a record to be said behind it. */
function destination({ branches }: Conversation, { parentUuid }: ClaudeRecord, speech: Speech): Place | undefined {
  const tip = branches.tip()
  if (speech.kind === 'result' || (speech.kind === 'answer' && branches.isGroupLive(speech.group))) return tip
  const parent = branches.parent(parentUuid)
  if (parent === 'unknown') return tip
  if (parent === 'beginning') return speech.kind === 'prompt' ? undefined : tip
  return branches.endOf(parent, speech.kind === 'prompt')
}

function* say(
  conversation: Conversation,
  taken: Taken,
  messages: readonly Message[],
  speech: Speech,
): Generator<TranscriptItem> {
  const { branches, held } = conversation
  const { id, where } = taken
  yield* compactWithoutSummary(conversation)
  const named = taken.record.parentUuid ?? ''
  // Who says a message again under the same parent copies it.
  if (branches.isLive(id) || branches.find(id)?.named === named) {
    yield* repeat(taken)
    return
  }
  const items = itemsOf(messages, taken)
  held.keep(id, items)
  for (const { body, part } of items)
    if (body.toolCallId !== undefined) conversation.results.set(body.toolCallId, { sourceId: id, part })
  const isAnswer = speech.kind === 'answer' || speech.kind === 'result'
  const caller = speech.kind === 'result' ? branches.find(speech.caller) : undefined
  if (caller !== undefined && !branches.isLive(caller.id)) {
    // The call was left behind while its tool ran.
    branches.sayAside({ id, group: caller.group, isAnswer, named }, branches.endOf(caller, false))
    yield* items
    yield { kind: 'withdrawal', sourceIds: [id], ...timed(taken), where }
    return
  }
  yield* moved(conversation, branches.goTo(destination(conversation, taken.record, speech)), taken)
  const group =
    speech.kind === 'answer'
      ? speech.group
      : (caller?.group ?? (speech.kind === 'prompt' ? id : (branches.tip()?.group ?? id)))
  branches.say({ id, group, isAnswer, named })
  yield* items
}

/** The program counts what came from its cache and went there beside the input; here it is a part of it. */
function usageOf(usage: ClaudeUsage | undefined): Usage | undefined {
  if (usage === undefined) return undefined
  const { input_tokens: input, output_tokens: output } = usage
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage
  if (input === undefined && output === undefined && read === undefined && written === undefined) return undefined
  return {
    ...(input === undefined ? {} : { inputTokens: input + (read ?? 0) + (written ?? 0) }),
    ...(output === undefined ? {} : { outputTokens: output }),
    ...(read === undefined ? {} : { cacheReadTokens: read }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
  }
}

/** What an answer took, by the line that tells most of it so far. */
function usageSoFar(
  conversation: Conversation,
  answerId: string | undefined,
  told: Usage | undefined,
): Usage | undefined {
  if (told === undefined || answerId === undefined) return told
  const { answer } = conversation
  const isLess = answer?.id === answerId && (answer.usage.outputTokens ?? 0) > (told.outputTokens ?? 0)
  const usage = isLess ? answer.usage : told
  conversation.answer = { id: answerId, usage }
  return usage
}

function resultMessage(conversation: Conversation, { record }: Taken, result: ResultSaid): Message {
  const { content, isError } = result
  const failed = isError ? ({ isError: true } as const) : {}
  const toolCallId =
    result.callId ?? takeNext(conversation.unnamed, record.sourceToolAssistantUUID ?? record.parentUuid ?? '')
  // A result that answers no call can only be told as a text.
  if (toolCallId === undefined) return { body: { role: 'user', content }, byProgram: true, ...failed }
  return { body: { role: 'tool', content, toolCallId }, ...failed }
}

/** A prompt that a call gives to a sub-agent, by its hash. */
export const promptHash = (prompt: string): string => sha256(prompt.trim())

const taskSchema = z.looseObject({ prompt: z.string().min(1) })

/** What a call tells the sub-agent that it begins. */
function promptOf(call: ToolCall): string | undefined {
  if (call.function === undefined || !/^(?:Task|Agent)$/u.test(call.function.name)) return undefined
  try {
    return taskSchema.safeParse(JSON.parse(call.function.arguments)).data?.prompt
  } catch {
    return undefined
  }
}

function noteCalls(conversation: Conversation, id: string, calls: readonly ToolCall[]): void {
  for (const call of calls) {
    conversation.callers.set(call.id, id)
    if (call.id.startsWith(unnamedCall(id, ''))) push(conversation.unnamed, id, call.id)
    const prompt = promptOf(call)
    if (prompt !== undefined) push(conversation.prompts, promptHash(prompt), call.id)
  }
}

/** The id of a call that has none. */
const unnamedCall = (id: string, index: number | ''): string => `${id}#${String(index)}`

function* unreadable({ branches }: Conversation, { record, id, where }: Taken): Generator<TranscriptItem> {
  branches.pass(id, record.parentUuid)
  yield { kind: 'damage', detail: `is a record of type ${record.type} without a message`, isCut: false, where }
}

function* takeAnswer(conversation: Conversation, taken: Taken): Generator<TranscriptItem> {
  const { record, id } = taken
  const said = answerSaid(record.message?.content, (index) => unnamedCall(id, index))
  if (said === undefined) {
    yield* unreadable(conversation, taken)
    return
  }
  // What the program said in the model's place: that nothing was asked, that the provider failed.
  const isSynthetic = record.message?.model === '<synthetic>'
  const answerId = isSynthetic ? undefined : record.message?.id
  const model = isSynthetic ? undefined : record.message?.model
  const usage = isSynthetic ? undefined : usageSoFar(conversation, answerId, usageOf(record.message?.usage))
  const messages = said.map((each): Message => {
    if (each.kind === 'result') return resultMessage(conversation, taken, each)
    noteCalls(conversation, id, each.body.toolCalls ?? [])
    return {
      body: each.body,
      ...(isSynthetic ? { byProgram: true } : {}),
      ...(answerId === undefined ? {} : { answerId }),
      ...(model === undefined ? {} : { model }),
      ...(usage === undefined ? {} : { usage }),
    }
  })
  yield* say(conversation, taken, messages, { kind: 'answer', group: answerId ?? id })
}

/** Whether the program, and nobody, says what a record in the user's place says. */
const isOfProgram = ({ isMeta, promptSource, origin }: ClaudeRecord, { isHarness }: UserSaid): boolean =>
  isMeta === true || isHarness || promptSource === 'system' || (origin?.kind ?? 'human') !== 'human'

function* takeUser(conversation: Conversation, taken: Taken): Generator<TranscriptItem> {
  const said = userSaid(taken.record.message?.content)
  if (said === undefined) {
    yield* unreadable(conversation, taken)
    return
  }
  const { results, body } = said
  const byProgram = isOfProgram(taken.record, said)
  const messages = results.map((result) => resultMessage(conversation, taken, result))
  if (body !== undefined) messages.push({ body, ...(byProgram ? { byProgram } : {}) })
  const callers = messages.map((message) => conversation.callers.get(message.body.toolCallId ?? ''))
  const caller = callers.find((id) => id !== undefined)
  const others: Speech = results.length > 0 || byProgram ? { kind: 'beside' } : { kind: 'prompt' }
  yield* say(conversation, taken, messages, caller === undefined ? others : { kind: 'result', caller })
}

function* takeAttachment(conversation: Conversation, taken: Taken): Generator<TranscriptItem> {
  const { attachment, rendered } = taken.record
  const said = attachment === undefined ? undefined : attachmentSaid(attachment, rendered)
  if (said === undefined) {
    yield* leaveOut(conversation, taken)
    return
  }
  const message: Message = { body: said.body, ...(said.isTyped ? {} : { byProgram: true }) }
  yield* say(conversation, taken, [message], { kind: 'beside' })
}

/** Results that are cleared to save room: the model is given a word in their place. */
function* takeMicrocompaction(conversation: Conversation, taken: Taken): Generator<TranscriptItem> {
  const { branches, cleared, results } = conversation
  const { compactedToolIds = [], clearedAttachmentUUIDs = [] } = taken.record.microcompactMetadata ?? {}
  const targets = [
    ...compactedToolIds
      .flatMap((callId) => results.get(callId) ?? [])
      .map((said) => ({ ...said, content: CLEARED_RESULT })),
    ...clearedAttachmentUUIDs.map((sourceId) => ({ sourceId, part: 0, content: null })),
  ].filter(({ sourceId, part }) => branches.isLive(sourceId) && !cleared.has(keyOf(sourceId, part)))
  for (const { sourceId, part, content } of targets) cleared.set(keyOf(sourceId, part), content)
  if (targets.length === 0) {
    yield* leaveOut(conversation, taken)
    return
  }
  branches.pass(taken.id, taken.record.parentUuid)
  for (const { sourceId, part } of targets) yield edit(conversation, sourceId, part, taken)
}

/** What stays of what was live, and what may. */
interface Stay {
  readonly kept: readonly Kept[]
  readonly unknown: readonly string[]
}

const keptPlaces = (places: readonly Place[]): Kept[] =>
  places.map(({ id, kind }) => ({ id, kind: kind === 'compaction' ? 'missing' : kind }))
const messageIds = (places: readonly Place[]): string[] =>
  places.filter(({ kind }) => kind === 'message').map(({ id }) => id)

/** The messages that a compaction names one by one. */
function stayOfList(branches: Branches, uuids: readonly string[], allUuids: readonly string[]): Stay {
  const kept = [...new Set(uuids)].flatMap((id): Kept[] => {
    const place = branches.find(id)
    if (place !== undefined) return keptPlaces([place])
    // What says nothing of the conversation stays with nothing.
    return branches.knows(id) ? [] : [{ id, kind: 'missing' }]
  })
  const named = new Set(uuids)
  const doubtful = new Set(allUuids.filter((id) => !named.has(id)))
  return { kept, unknown: messageIds(branches.live()).filter((id) => doubtful.has(id)) }
}

/** The messages from one to another, which is how some versions name them. */
function stayOfSegment(branches: Branches, head: string | undefined, tail: string | undefined): Stay {
  const live = branches.live()
  const placeOf = (id: string): number => {
    const parent = branches.parent(id)
    return typeof parent === 'string' ? -1 : live.indexOf(parent)
  }
  const missing = [head, tail].flatMap((id): Kept[] =>
    id === undefined || branches.knows(id) ? [] : [{ id, kind: 'missing' }],
  )
  const last = tail === undefined ? live.length - 1 : placeOf(tail)
  // A record that says nothing stands behind the message that it hangs on.
  const first = head === undefined ? -1 : placeOf(head) + (branches.find(head) === undefined ? 1 : 0)
  const isHeadMissing = head !== undefined && !branches.knows(head)
  if (last >= 0 && isHeadMissing) return { kept: [...missing, ...keptPlaces(live.slice(0, last + 1))], unknown: [] }
  if (last >= 0 && first >= 0 && head !== undefined)
    return { kept: keptPlaces(live.slice(first, last + 1)), unknown: [] }
  return { kept: missing, unknown: messageIds(first > 0 ? live.slice(first) : live) }
}

function stayOf({ branches }: Conversation, { compactMetadata }: ClaudeRecord): Stay {
  const { preservedMessages: messages, preservedSegment: segment } = compactMetadata ?? {}
  const uuids = messages?.uuids ?? messages?.allUuids
  if (uuids !== undefined) return stayOfList(branches, uuids, messages?.allUuids ?? [])
  if (segment === undefined) return { kept: [], unknown: [] }
  return stayOfSegment(branches, segment.headUuid, segment.tailUuid)
}

/** An entry of the context, as it is told. */
function entryOf({ held, summaries }: Conversation, { id, kind }: Kept): ContextEntry {
  if (kind !== 'inserted') return { kind, sourceId: id }
  const origin = summaries.get(id)
  const item = origin === undefined ? undefined : held.of(origin.compactionId)?.[0]
  const entry = item?.kind === 'compaction' ? item.context[origin?.at ?? 0] : undefined
  return entry ?? { kind: 'missing', sourceId: id }
}

const triggerOf = (trigger: string | undefined): CompactionItem['trigger'] =>
  trigger === 'auto' || trigger === 'manual' ? trigger : 'unknown'

/** @param boundary the record that tells of the compaction; the summary's own where there is none */
function* compact(
  conversation: Conversation,
  boundary: Taken,
  summary: { readonly id: string; readonly body: MessageBody } | undefined,
): Generator<TranscriptItem> {
  const { branches, held, summaries } = conversation
  const { record, id } = boundary
  const { trigger, preTokens, postTokens, durationMs, preservedMessages, preservedSegment } =
    record.compactMetadata ?? {}
  const before = branches.parent(record.logicalParentUuid)
  if (typeof before !== 'string') yield* moved(conversation, branches.goTo(branches.endOf(before, false)), boundary)
  const { kept, unknown } = stayOf(conversation, record)
  const left = new Set(kept.map((each) => each.id))
  const lacks = branches.live().some((place) => place.kind === 'missing' && !left.has(place.id))
  const isFirst = !branches.isCompacted()
  const coversMissing = lacks || (isFirst && (conversation.beginsLate || branches.live().length === 0))
  const inserted: ContextEntry[] =
    summary === undefined ? [] : [{ kind: 'inserted', body: summary.body, isSummary: true }]
  const entries = kept.map((each) => entryOf(conversation, each))
  // Kept messages stand behind the summary, but where they hang on the boundary itself.
  const keptFirst = (preservedMessages?.anchorUuid ?? preservedSegment?.anchorUuid) === id
  const own: Kept[] = summary === undefined ? [] : [{ id: summary.id, kind: 'inserted' }]
  const text = summary === undefined ? '' : contentText(summary.body.content)
  const item: CompactionItem = {
    kind: 'compaction',
    sourceId: id,
    ...timed(boundary),
    trigger: triggerOf(trigger),
    summary: text === '' ? { kind: 'none' } : { kind: 'text', text },
    context: keptFirst ? [...entries, ...inserted] : [...inserted, ...entries],
    ...(unknown.length === 0 ? {} : { unknown }),
    ...(coversMissing ? { coversMissing } : {}),
    ...(preTokens === undefined ? {} : { tokensBefore: preTokens }),
    ...(postTokens === undefined ? {} : { tokensAfter: postTokens }),
    ...(durationMs === undefined ? {} : { durationMs }),
    where: boundary.where,
  }
  branches.compact(id, summary?.id, keptFirst ? [...kept, ...own] : [...own, ...kept])
  held.keep(id, [item])
  if (summary !== undefined) summaries.set(summary.id, { compactionId: id, at: keptFirst ? entries.length : 0 })
  yield item
}

/** A compaction whose summary never came. */
function* compactWithoutSummary(conversation: Conversation): Generator<TranscriptItem> {
  const { boundary } = conversation
  if (boundary === undefined) return
  conversation.boundary = undefined
  yield* compact(conversation, boundary, undefined)
}

function* takeSummary(conversation: Conversation, taken: Taken): Generator<TranscriptItem> {
  const boundary = conversation.boundary ?? taken
  conversation.boundary = undefined
  const body = userSaid(taken.record.message?.content)?.body ?? { role: 'user', content: '' }
  yield* compact(conversation, boundary, { id: taken.id, body })
}

function* takeBoundary(conversation: Conversation, taken: Taken): Generator<TranscriptItem> {
  yield* compactWithoutSummary(conversation)
  conversation.boundary = taken
}

/** What a record of this conversation says. A compaction is told once its summary is read, which is the next record. */
export function takeRecord(conversation: Conversation, taken: Taken): Iterable<TranscriptItem> {
  const { type, subtype } = taken.record
  const isSummary = type === 'user' && taken.record.isCompactSummary === true
  const isBoundary = type === 'system' && subtype === 'compact_boundary'
  const isKnown = conversation.branches.knows(taken.id) || conversation.boundary?.id === taken.id
  if ((isSummary || isBoundary) && isKnown) return repeat(taken)
  if (isSummary) return takeSummary(conversation, taken)
  if (isBoundary) return takeBoundary(conversation, taken)
  if (type === 'assistant') return takeAnswer(conversation, taken)
  if (type === 'user') return takeUser(conversation, taken)
  if (type === 'attachment') return takeAttachment(conversation, taken)
  if (type === 'system' && subtype === 'microcompact_boundary') return takeMicrocompaction(conversation, taken)
  return leaveOut(conversation, taken)
}
