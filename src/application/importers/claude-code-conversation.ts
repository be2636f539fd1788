/** Reads one conversation of Claude Code record by record, and yields the messages, compactions and changes. */
import { z } from 'zod'
import { sha256 } from '../../domain/values/hash.js'
import { contentText, type MessageBody, type ToolCall } from '../../domain/values/message.js'
import { Branches, type RetainedEntry, type Position, type Step } from './claude-code-branches.js'
import {
  answerMessagesOf,
  attachmentContentOf,
  userContentOf,
  type ToolResult,
  type UserContent,
} from './claude-code-content.js'
import { summaryFrom } from './message-items.js'
import { createRecentItems, type RecentItems } from './recent-items.js'
import { nameOf, timeOf, type ClaudeRecord, type ClaudeUsage } from './claude-code-records.js'
import type {
  CompactionItem,
  ContextEntry,
  ConversationItem,
  MessageItem,
  TranscriptItem,
  Usage,
  SourceLocation,
} from './transcript.js'

/**
 * Recorded as the content of a result that a microcompaction cleared: the transcript does not contain the replacement
 * that the model received.
 */
const CLEARED_RESULT = '[cleared by the program; its transcript does not say what stands in its place]'

/** A record, with its own or a generated id, and its location in the file. */
export interface LocatedRecord {
  readonly record: ClaudeRecord
  readonly id: string
  readonly where: SourceLocation
}

/** A compaction of which the boundary was read, but not yet the summary. */
interface PendingCompaction {
  readonly boundary: LocatedRecord
  /** The record with the summary, if the boundary names it. */
  readonly summaryId: string | undefined
  /** Ids of the messages since the boundary: texts that the program puts before the summary. */
  readonly notes: string[]
}

/** The state of a conversation while it is read: ids, hashes, and the latest items. */
export interface Conversation {
  readonly opening: Omit<ConversationItem, 'where'>
  /** The file begins after the start of the conversation. */
  readonly beginsLate: boolean
  readonly branches: Branches
  readonly recentItems: RecentItems
  /** Tool call id → id of the record that contains the call. */
  readonly callers: Map<string, string>
  /** Tool call id → message with the result. */
  readonly results: Map<string, { readonly sourceId: string; readonly part: number }>
  /** Record id → generated ids of its calls without one. Their results arrive in the same order. */
  readonly unnamed: Map<string, string[]>
  /** Hash of a sub-agent's prompt → ids of the calls that passed it. */
  readonly prompts: Map<string, string[]>
  /** Message key → content that replaced a cleared message. */
  readonly cleared: Map<string, MessageBody['content']>
  /** Summary record id → its compaction, and the index of the summary in that compaction's context. */
  readonly summaries: Map<string, { readonly compactionId: string; readonly at: number }>
  /** A compaction that waits for its summary. */
  pending: PendingCompaction | undefined
  /** Ids of the summaries that earlier compactions named, but that the program had not written when its model answered. */
  readonly lateSummaries: Set<string>
  /** The last answer, with the largest usage that one of its lines reports: the figures grow from line to line. */
  answer: { readonly id: string; readonly usage: Usage } | undefined
}

export const createConversation = (opening: Conversation['opening'], beginsLate: boolean): Conversation => ({
  opening,
  beginsLate,
  branches: new Branches(),
  recentItems: createRecentItems(),
  callers: new Map(),
  results: new Map(),
  unnamed: new Map(),
  prompts: new Map(),
  cleared: new Map(),
  summaries: new Map(),
  pending: undefined,
  lateSummaries: new Set(),
  answer: undefined,
})

/** A message without its ids and location. */
type Message = Pick<MessageItem, 'body' | 'byProgram' | 'answerId' | 'model' | 'usage' | 'isError'>

const keyOf = (sourceId: string, part: number): string => `${sourceId} ${String(part)}`

const timed = ({ record }: LocatedRecord): { readonly at?: string } => {
  const at = timeOf(record.timestamp)
  return at === undefined ? {} : { at }
}

function push(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

/** Removes and returns the first value of a list. */
export const takeNext = (lists: Map<string, string[]>, key: string): string | undefined => lists.get(key)?.shift()

/** Skips a record without a message. */
function* skip({ branches, pending }: Conversation, { record, id, where }: LocatedRecord): Generator<TranscriptItem> {
  if (pending === undefined) branches.noteSilent(id, record.parentUuid)
  else branches.noteSilentAfterBoundary(id, pending.boundary.id)
  yield { kind: 'left-out', what: nameOf(record), where }
}

/** Skips a record that the program wrote a second time. */
function* skipRepeated({ record, where }: LocatedRecord): Generator<TranscriptItem> {
  yield { kind: 'left-out', what: `repeated ${nameOf(record)}`, where }
}

/** The edit that replaces a cleared message. */
function edit(conversation: Conversation, sourceId: string, part: number, located: LocatedRecord): TranscriptItem {
  const content = conversation.cleared.get(keyOf(sourceId, part)) ?? null
  return { kind: 'edit', sourceId, part, content, why: 'pruned', ...timed(located), where: located.where }
}

/** Yields the changes when the program switches to another branch. */
function* switchBranch(
  conversation: Conversation,
  steps: readonly Step[],
  located: LocatedRecord,
): Generator<TranscriptItem> {
  const { where } = located
  let lost = 0
  for (const step of steps) {
    if (step.kind === 'undo') yield { kind: 'undo', sourceIds: step.ids, ...timed(located), where }
    else if (step.kind === 'withdraw') yield { kind: 'withdrawal', sourceIds: step.ids, ...timed(located), where }
    else {
      const items = conversation.recentItems.of(step.id)
      if (items === undefined) lost += 1
      for (const item of items ?? []) {
        yield item
        if (item.kind === 'message' && conversation.cleared.has(keyOf(item.sourceId, item.part)))
          yield edit(conversation, item.sourceId, item.part, located)
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

function itemsOf(messages: readonly Message[], located: LocatedRecord): MessageItem[] {
  return messages.map((message, part) => ({
    kind: 'message',
    sourceId: located.id,
    part,
    ...timed(located),
    ...message,
    where: located.where,
  }))
}

/** The role of a record in the tree. */
type RecordRole =
  /** A prompt of the user. A rewind goes back to a prompt. */
  | { readonly kind: 'prompt' }
  | { readonly kind: 'answer'; readonly group: string }
  | { readonly kind: 'result'; readonly caller: string }
  /** Anything else: a reminder, or a result whose call is not in the file. */
  | { readonly kind: 'other' }

/** The position after which a record is appended. */
function destination({ branches }: Conversation, { parentUuid }: ClaudeRecord, role: RecordRole): Position | undefined {
  const tip = branches.tip
  if (role.kind === 'result' || (role.kind === 'answer' && branches.isGroupLive(role.group))) return tip
  const parent = branches.parent(parentUuid)
  if (parent === 'unknown') return tip
  if (parent === 'beginning') return role.kind === 'prompt' ? undefined : tip
  return branches.endOf(parent, role.kind === 'prompt')
}

/** Whether a message may be between the boundary of a compaction and its summary. The model's next answer may not. */
const mayPrecedeSummary = ({ summaryId }: PendingCompaction, { kind }: RecordRole): boolean =>
  kind === 'other' || (summaryId !== undefined && kind !== 'answer')

function* emit(
  conversation: Conversation,
  located: LocatedRecord,
  messages: readonly Message[],
  role: RecordRole,
): Generator<TranscriptItem> {
  const { branches, recentItems } = conversation
  const { id, where } = located
  if (conversation.pending !== undefined && !mayPrecedeSummary(conversation.pending, role))
    yield* compactWithoutSummary(conversation)
  const parentId = located.record.parentUuid ?? ''
  // A message that is repeated under the same parent is a copy.
  if (branches.isLive(id) || branches.find(id)?.parentId === parentId) {
    yield* skipRepeated(located)
    return
  }
  const items = itemsOf(messages, located)
  recentItems.keep(id, items)
  for (const { body, part } of items)
    if (body.toolCallId !== undefined) conversation.results.set(body.toolCallId, { sourceId: id, part })
  const isAnswer = role.kind === 'answer' || role.kind === 'result'
  const caller = role.kind === 'result' ? branches.find(role.caller) : undefined
  if (caller !== undefined && !branches.isLive(caller.id)) {
    // The program switched to another branch while the tool ran.
    branches.appendToOtherBranch({ id, group: caller.group, isAnswer, parentId }, branches.endOf(caller, false))
    yield* items
    yield { kind: 'withdrawal', sourceIds: [id], ...timed(located), where }
    return
  }
  yield* switchBranch(conversation, branches.goTo(destination(conversation, located.record, role)), located)
  const group =
    role.kind === 'answer' ? role.group : (caller?.group ?? (role.kind === 'prompt' ? id : (branches.tip?.group ?? id)))
  branches.append({ id, group, isAnswer, parentId })
  conversation.pending?.notes.push(id)
  yield* items
}

/** The program counts cached tokens separately; here they are part of the input. */
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

/** The usage of an answer: the largest value that one of its lines has reported so far. */
function usageSoFar(
  conversation: Conversation,
  answerId: string | undefined,
  reported: Usage | undefined,
): Usage | undefined {
  if (reported === undefined || answerId === undefined) return reported
  const { answer } = conversation
  const isLess = answer?.id === answerId && (answer.usage.outputTokens ?? 0) > (reported.outputTokens ?? 0)
  const usage = isLess ? answer.usage : reported
  conversation.answer = { id: answerId, usage }
  return usage
}

function resultMessage(conversation: Conversation, { record }: LocatedRecord, result: ToolResult): Message {
  const { content, isError } = result
  const failed = isError ? ({ isError: true } as const) : {}
  const toolCallId =
    result.callId ?? takeNext(conversation.unnamed, record.sourceToolAssistantUUID ?? record.parentUuid ?? '')
  // A result without a call is recorded as a user's text.
  if (toolCallId === undefined) return { body: { role: 'user', content }, byProgram: true, ...failed }
  return { body: { role: 'tool', content, toolCallId }, ...failed }
}

/** The hash of a sub-agent's prompt. */
export const promptHash = (prompt: string): string => sha256(prompt.trim())

const taskSchema = z.looseObject({ prompt: z.string().min(1) })

/** The prompt that a call passes to a sub-agent; undefined for other calls. */
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

/** A generated id for a call without one. */
const unnamedCall = (id: string, index: number | ''): string => `${id}#${String(index)}`

function* unreadable({ branches }: Conversation, { record, id, where }: LocatedRecord): Generator<TranscriptItem> {
  branches.noteSilent(id, record.parentUuid)
  yield { kind: 'damage', detail: `is a record of type ${record.type} without a message`, isCut: false, where }
}

function* takeAnswer(conversation: Conversation, located: LocatedRecord): Generator<TranscriptItem> {
  const { record, id } = located
  const answers = answerMessagesOf(record.message?.content, (index) => unnamedCall(id, index))
  if (answers === undefined) {
    yield* unreadable(conversation, located)
    return
  }
  // A message that the program generated with the role assistant: no response was requested, or the provider failed.
  const isSynthetic = record.message?.model === '<synthetic>'
  const answerId = isSynthetic ? undefined : record.message?.id
  const model = isSynthetic ? undefined : record.message?.model
  const usage = isSynthetic ? undefined : usageSoFar(conversation, answerId, usageOf(record.message?.usage))
  const messages = answers.map((each): Message => {
    if (each.kind === 'result') return resultMessage(conversation, located, each)
    noteCalls(conversation, id, each.body.toolCalls ?? [])
    return {
      body: each.body,
      ...(isSynthetic ? { byProgram: true } : {}),
      ...(answerId === undefined ? {} : { answerId }),
      ...(model === undefined ? {} : { model }),
      ...(usage === undefined ? {} : { usage }),
    }
  })
  yield* emit(conversation, located, messages, { kind: 'answer', group: answerId ?? id })
}

/** Whether the program generated a record with the role user. */
const isOfProgram = (
  { isMeta, isCompactSummary, promptSource, origin }: ClaudeRecord,
  { isByProgram }: UserContent,
): boolean =>
  isMeta === true ||
  isCompactSummary === true ||
  isByProgram ||
  promptSource === 'system' ||
  (origin?.kind ?? 'human') !== 'human'

function* takeUser(conversation: Conversation, located: LocatedRecord): Generator<TranscriptItem> {
  const userContent = userContentOf(located.record.message?.content)
  if (userContent === undefined) {
    yield* unreadable(conversation, located)
    return
  }
  const { results, body } = userContent
  const byProgram = isOfProgram(located.record, userContent)
  const messages = results.map((result) => resultMessage(conversation, located, result))
  if (body !== undefined) messages.push({ body, ...(byProgram ? { byProgram } : {}) })
  const callers = messages.map((message) => conversation.callers.get(message.body.toolCallId ?? ''))
  const caller = callers.find((id) => id !== undefined)
  const roleWithoutCall: RecordRole = results.length > 0 || byProgram ? { kind: 'other' } : { kind: 'prompt' }
  yield* emit(conversation, located, messages, caller === undefined ? roleWithoutCall : { kind: 'result', caller })
}

function* takeAttachment(conversation: Conversation, located: LocatedRecord): Generator<TranscriptItem> {
  const content = attachmentContentOf(located.record)
  if (content === undefined) {
    yield* skip(conversation, located)
    return
  }
  const message: Message = { body: content.body, ...(content.isTyped ? {} : { byProgram: true }) }
  yield* emit(conversation, located, [message], { kind: 'other' })
}

/** Results that the program cleared to save context: a placeholder replaces them. */
function* takeMicrocompaction(conversation: Conversation, located: LocatedRecord): Generator<TranscriptItem> {
  const { branches, cleared, results } = conversation
  const { compactedToolIds = [], clearedAttachmentUUIDs = [] } = located.record.microcompactMetadata ?? {}
  const targets = [
    ...compactedToolIds
      .flatMap((callId) => results.get(callId) ?? [])
      .map((message) => ({ ...message, content: CLEARED_RESULT })),
    ...clearedAttachmentUUIDs.map((sourceId) => ({ sourceId, part: 0, content: null })),
  ].filter(({ sourceId, part }) => branches.isLive(sourceId) && !cleared.has(keyOf(sourceId, part)))
  for (const { sourceId, part, content } of targets) cleared.set(keyOf(sourceId, part), content)
  if (targets.length === 0) {
    yield* skip(conversation, located)
    return
  }
  branches.noteSilent(located.id, located.record.parentUuid)
  for (const { sourceId, part } of targets) yield edit(conversation, sourceId, part, located)
}

/** The messages that a compaction retained, and those for which the transcript does not say. */
interface Retention {
  readonly retained: readonly RetainedEntry[]
  readonly unknown: readonly string[]
}

const entriesOf = (places: readonly Position[]): RetainedEntry[] =>
  places.map(({ id, kind }) => ({ id, kind: kind === 'compaction' ? 'missing' : kind }))
const messageIds = (places: readonly Position[]): string[] =>
  places.filter(({ kind }) => kind === 'message').map(({ id }) => id)

/** For a compaction that lists the ids of the retained messages. */
function retentionOfList(branches: Branches, uuids: readonly string[], allUuids: readonly string[]): Retention {
  const retained = [...new Set(uuids)].flatMap((id): RetainedEntry[] => {
    const place = branches.find(id)
    if (place !== undefined) return entriesOf([place])
    // A record without a message retains nothing.
    return branches.knows(id) ? [] : [{ id, kind: 'missing' }]
  })
  const named = new Set(uuids)
  const doubtful = new Set(allUuids.filter((id) => !named.has(id)))
  return { retained, unknown: messageIds(branches.live).filter((id) => doubtful.has(id)) }
}

/** For a compaction that names the first and the last retained message, as some versions do. */
function retentionOfSegment(branches: Branches, head: string | undefined, tail: string | undefined): Retention {
  const live = branches.live
  const placeOf = (id: string): number => {
    const parent = branches.parent(id)
    return typeof parent === 'string' ? -1 : live.indexOf(parent)
  }
  const missing = [head, tail].flatMap((id): RetainedEntry[] =>
    id === undefined || branches.knows(id) ? [] : [{ id, kind: 'missing' }],
  )
  const last = tail === undefined ? live.length - 1 : placeOf(tail)
  // A record without a message comes after the message to which it is attached.
  const first = head === undefined ? -1 : placeOf(head) + (branches.find(head) === undefined ? 1 : 0)
  const isHeadMissing = head !== undefined && !branches.knows(head)
  if (last >= 0 && isHeadMissing) return { retained: [...missing, ...entriesOf(live.slice(0, last + 1))], unknown: [] }
  if (last >= 0 && first >= 0 && head !== undefined)
    return { retained: entriesOf(live.slice(first, last + 1)), unknown: [] }
  return { retained: missing, unknown: messageIds(first > 0 ? live.slice(first) : live) }
}

function retentionOf({ branches }: Conversation, { compactMetadata }: ClaudeRecord): Retention {
  const { preservedMessages: messages, preservedSegment: segment } = compactMetadata ?? {}
  const uuids = messages?.uuids ?? messages?.allUuids
  if (uuids !== undefined) return retentionOfList(branches, uuids, messages?.allUuids ?? [])
  if (segment === undefined) return { retained: [], unknown: [] }
  return retentionOfSegment(branches, segment.headUuid, segment.tailUuid)
}

/** A retained entry as a context entry of the transcript. */
function entryOf({ recentItems, summaries }: Conversation, { id, kind }: RetainedEntry): ContextEntry {
  if (kind !== 'inserted') return { kind, sourceId: id }
  const origin = summaries.get(id)
  const item = origin === undefined ? undefined : recentItems.of(origin.compactionId)?.[0]
  const entry = item?.kind === 'compaction' ? item.context[origin?.at ?? 0] : undefined
  return entry ?? { kind: 'missing', sourceId: id }
}

const triggerOf = (trigger: string | undefined): CompactionItem['trigger'] =>
  trigger === 'auto' || trigger === 'manual' ? trigger : 'unknown'

/** Switches to the branch that a compaction compacts. */
function* goToCompacted(conversation: Conversation, boundary: LocatedRecord): Generator<TranscriptItem> {
  const { branches } = conversation
  const before = branches.parent(boundary.record.logicalParentUuid)
  if (typeof before !== 'string')
    yield* switchBranch(conversation, branches.goTo(branches.endOf(before, false)), boundary)
}

/** The record of a compaction's summary. */
interface SummaryRecord {
  readonly id: string
  readonly body: MessageBody
}

/** The messages and texts in the context after a compaction, in order, and the index of the summary. */
function contextOf(
  retained: readonly RetainedEntry[],
  { boundary, notes }: Pick<PendingCompaction, 'boundary' | 'notes'>,
  summary: SummaryRecord | undefined,
): { readonly entries: readonly RetainedEntry[]; readonly summaryAt: number } {
  const { preservedMessages, preservedSegment } = boundary.record.compactMetadata ?? {}
  // Retained messages follow the summary, unless they are anchored at the boundary.
  const retainedFirst = (preservedMessages?.anchorUuid ?? preservedSegment?.anchorUuid) === boundary.id
  const noteEntries = notes.map((id): RetainedEntry => ({ id, kind: 'message' }))
  const summaryEntry: RetainedEntry[] = summary === undefined ? [] : [{ id: summary.id, kind: 'inserted' }]
  const before = retainedFirst ? [...retained, ...noteEntries] : noteEntries
  return {
    entries: [...before, ...summaryEntry, ...(retainedFirst ? [] : retained)],
    summaryAt: before.length,
  }
}

/** Yields a compaction. The record with the summary takes the place of a boundary that was not written. */
function* compact(
  conversation: Conversation,
  pending: Pick<PendingCompaction, 'boundary' | 'notes'>,
  summary: SummaryRecord | undefined,
): Generator<TranscriptItem> {
  const { branches, recentItems, summaries } = conversation
  const { boundary, notes } = pending
  const { record, id } = boundary
  const { trigger, preTokens, postTokens, durationMs } = record.compactMetadata ?? {}
  const noteIds = new Set(notes)
  const { retained: retainedEntries, unknown } = retentionOf(conversation, record)
  const retained = retainedEntries.filter((each) => !noteIds.has(each.id))
  const retainedIds = new Set(retained.map((each) => each.id))
  const compacted = branches.live.filter((place) => !noteIds.has(place.id))
  const lacks = compacted.some((place) => place.kind === 'missing' && !retainedIds.has(place.id))
  const isFirst = !branches.isCompacted()
  const coversMissing = lacks || (isFirst && (conversation.beginsLate || compacted.length === 0))
  const { entries, summaryAt } = contextOf(retained, pending, summary)
  const doubtful = unknown.filter((each) => !noteIds.has(each))
  const text = summary === undefined ? '' : contentText(summary.body.content)
  const item: CompactionItem = {
    kind: 'compaction',
    sourceId: id,
    ...timed(boundary),
    trigger: triggerOf(trigger),
    summary: summaryFrom(text),
    context: entries.map((each) =>
      summary !== undefined && each.id === summary.id
        ? { kind: 'inserted', body: summary.body, isSummary: true }
        : entryOf(conversation, each),
    ),
    ...(doubtful.length === 0 ? {} : { unknown: doubtful }),
    ...(coversMissing ? { coversMissing } : {}),
    ...(preTokens === undefined ? {} : { tokensBefore: preTokens }),
    ...(postTokens === undefined ? {} : { tokensAfter: postTokens }),
    ...(durationMs === undefined ? {} : { durationMs }),
    where: boundary.where,
  }
  branches.compact(id, summary?.id, entries)
  recentItems.keep(id, [item])
  if (summary !== undefined) summaries.set(summary.id, { compactionId: id, at: summaryAt })
  yield item
}

/** Yields a compaction without a written summary. */
function* compactWithoutSummary(conversation: Conversation): Generator<TranscriptItem> {
  const { pending } = conversation
  if (pending === undefined) return
  conversation.pending = undefined
  if (pending.summaryId !== undefined) conversation.lateSummaries.add(pending.summaryId)
  yield* compact(conversation, pending, undefined)
}

function* takeSummary(conversation: Conversation, located: LocatedRecord): Generator<TranscriptItem> {
  const { pending } = conversation
  if (pending === undefined) yield* goToCompacted(conversation, located)
  conversation.pending = undefined
  const body = userContentOf(located.record.message?.content)?.body ?? { role: 'user', content: '' }
  yield* compact(conversation, pending ?? { boundary: located, notes: [] }, { id: located.id, body })
}

function* takeBoundary(conversation: Conversation, located: LocatedRecord): Generator<TranscriptItem> {
  yield* compactWithoutSummary(conversation)
  yield* goToCompacted(conversation, located)
  const { preservedMessages, preservedSegment } = located.record.compactMetadata ?? {}
  const anchorId = preservedMessages?.anchorUuid ?? preservedSegment?.anchorUuid
  conversation.pending = {
    boundary: located,
    summaryId: anchorId === located.id ? undefined : anchorId,
    notes: [],
  }
}

/**
 * Reads one record of this conversation. A compaction is everything from its boundary to its summary, and is yielded
 * with the summary.
 */
export function takeRecord(conversation: Conversation, located: LocatedRecord): Iterable<TranscriptItem> {
  const { type, subtype } = located.record
  // A summary that follows the model's answer is one of the program's messages: its compaction was yielded before.
  const isSummary =
    type === 'user' && located.record.isCompactSummary === true && !conversation.lateSummaries.has(located.id)
  const isBoundary = type === 'system' && subtype === 'compact_boundary'
  const isKnown = conversation.branches.knows(located.id) || conversation.pending?.boundary.id === located.id
  if ((isSummary || isBoundary) && isKnown) return skipRepeated(located)
  if (isSummary) return takeSummary(conversation, located)
  if (isBoundary) return takeBoundary(conversation, located)
  if (type === 'assistant') return takeAnswer(conversation, located)
  if (type === 'user') return takeUser(conversation, located)
  if (type === 'attachment') return takeAttachment(conversation, located)
  if (type === 'system' && subtype === 'microcompact_boundary') return takeMicrocompaction(conversation, located)
  return skip(conversation, located)
}
