/**
 * Where a line comes from that the model saw: the batches and messages that have it. What the context shows now is asked first; then
 * everything that was archived, which reads the conversation once.
 */
import { either as E } from 'fp-ts'
import { summaryOf } from '../domain/batch.js'
import { contextOf } from '../domain/context.js'
import type { Conversation, LiveMessage } from '../domain/conversation.js'
import type { FactData, RecordedFact, TakeoverType } from '../domain/events.js'
import { lineFinder, type Match } from '../domain/find-line.js'
import { conversationStream, editionStream } from '../domain/ids.js'
import { contentText, type ChatMessage, type MessageBody } from '../domain/message.js'
import { sectionLines } from '../domain/session-summary.js'
import { decodeFact, isOfType } from './facts.js'
import type { Log } from './load-conversation.js'

/** A batch or a message that a line may come from. */
export type LineSource = { readonly excerpt: string } & (
  | { readonly kind: 'batch'; readonly batchId: string; readonly depth: number; readonly startTime: string; readonly endTime: string }
  /** `batchId` is the batch that it was archived in; undefined while it is live. */
  | { readonly kind: 'message'; readonly messageId: string; readonly revision: bigint; readonly batchId?: string }
)

export type Trace =
  | { readonly kind: 'sources'; readonly match: Match; readonly sources: readonly LineSource[] }
  /** A line of the view's own, which counts or orders what stands below it. */
  | { readonly kind: 'view' }
  /** Shown and recorded nowhere: a placeholder for a result, or the note that says what is left out. */
  | { readonly kind: 'shown-only'; readonly excerpt: string }

type Found = LineSource & { readonly match: Match }
type Finder = ReturnType<typeof lineFinder>
/** A batch as it is recorded, or as a fact has it that puts it into force. */
type RecordedBatch = FactData<'BatchArchived'> | FactData<'BatchesResummarized'> | FactData<TakeoverType>['batches'][number]

/** Word for word wins over all that was found but for white space. */
function traceOf(found: readonly Found[]): Trace | undefined {
  const exact = found.filter(({ match }) => match === 'exact')
  const best = exact.length > 0 ? exact : found
  const [first] = best
  return first === undefined ? undefined : { kind: 'sources', match: first.match, sources: best.map(({ match: _match, ...source }) => source) }
}

const callTexts = (calls: readonly { readonly function?: { readonly name: string; readonly arguments: string } | undefined }[] = []): string[] =>
  calls.flatMap(({ function: called }) => (called === undefined ? [] : [called.arguments, `→ ${called.name}(${called.arguments})`]))

const textsOf = (message: Pick<MessageBody, 'content' | 'toolCalls'>): string[] => [contentText(message.content), ...callTexts(message.toolCalls)]
const textsAsShown = (message: ChatMessage): string[] => [contentText(message.content), ...callTexts(message.tool_calls)]

function inMessage(find: Finder, texts: readonly string[], { messageId, revision }: Pick<LiveMessage, 'messageId' | 'revision'>): Found[] {
  const hit = find(texts)
  return hit === undefined ? [] : [{ kind: 'message', messageId, revision, ...hit }]
}

/** The batches of the view that have the line, each with the head that stands above it. */
function inView(find: Finder, state: Conversation): Found[] {
  const { view, shown, originalTask } = state
  const parts = view?.parts ?? []
  const isSessionSummary = state.configuration?.policy.view === 'session-summary'
  const batches = shown.flatMap((batch): Found[] => {
    const at = parts.findIndex((part) => part.kind === 'batch' && part.batchId === batch.batchId)
    const [head, part] = [parts[at - 1]?.text ?? '', parts[at]]
    const sections = isSessionSummary && batch.sections !== undefined ? sectionLines(batch.sections) : []
    const hit = find([...(part === undefined ? [] : [part.text, `${head}\n${part.text}`]), ...sections])
    return hit === undefined ? [] : [{ kind: 'batch', ...spanOf(batch), ...hit }]
  })
  const task = parts.find((part) => part.kind === 'batch' && !shown.some(({ batchId }) => batchId === part.batchId))
  return [...batches, ...(task === undefined || originalTask === undefined ? [] : inMessage(find, [task.text], originalTask))]
}

const spanOf = ({ batchId, depth, startTime, endTime }: { readonly batchId: string; readonly depth: number; readonly startTime: string; readonly endTime: string }) => ({ batchId, depth, startTime, endTime })

/** Where the mark of a shortened text, or a note, names the batch or the message itself. */
function namedIn(line: string, state: Conversation, live: readonly LiveMessage[]): Found[] {
  const named = { match: 'exact', excerpt: line } as const
  return [
    ...state.shown.filter(({ batchId }) => line.includes(batchId)).map((batch): Found => ({ kind: 'batch', ...spanOf(batch), ...named })),
    ...live.filter(({ messageId }) => line.includes(`message ${messageId} `)).map(({ messageId, revision }): Found => ({ kind: 'message', messageId, revision, ...named })),
  ]
}

/** What the context shows now. */
function inContext(line: string, find: Finder, state: Conversation): Trace | undefined {
  const live = [...state.leading, ...state.kept, ...state.window]
  const made = contextOf(state)
  const context = E.isLeft(made) ? undefined : made.right
  const asShown = new Map(context?.messages.map((message, at) => [context.messageIds[at], message]))
  const messages = live.flatMap((message) => {
    const shown = asShown.get(message.messageId)
    return inMessage(find, [...textsOf(message), ...(shown === undefined ? [] : textsAsShown(shown))], message)
  })
  const found = traceOf([...inView(find, state), ...messages])
  if (found !== undefined) return found
  if (find(state.view?.parts.map((part) => part.text) ?? []) !== undefined) return { kind: 'view' }
  const named = traceOf(namedIn(line, state, live))
  if (named !== undefined) return named
  const note = find(context?.messages.filter((_message, at) => context.messageIds[at] === undefined && at !== context.viewAt).flatMap(textsAsShown) ?? [])
  return note === undefined ? undefined : { kind: 'shown-only', excerpt: note.excerpt }
}

/** What a batch was shown as, and what its sections say. Its number in the view changes from cycle to cycle; the rest of its head does not. */
function batchTexts(batch: RecordedBatch): string[] {
  return [batch.content, `— depth ${String(batch.depth)}, ${batch.startTime} to ${batch.endTime}]\n${summaryOf(batch)}`, ...(batch.sections === undefined ? [] : sectionLines(batch.sections))]
}

/** The batches that a fact brings into the conversation. */
function batchesOf(fact: RecordedFact): readonly RecordedBatch[] {
  if (isOfType(fact, 'BatchArchived', 'BatchesResummarized')) return [fact.data]
  return isOfType(fact, 'EditionAdopted', 'EditionReverted', 'CycleUndone') ? fact.data.batches : []
}

/** Everything that was archived: batches, else the messages that they cover. Of editions only what was in force was ever seen. */
async function inArchive(log: Log, conversationId: string, line: string): Promise<Trace | undefined> {
  const find = lineFinder(line)
  const findBatch = lineFinder(line.trim().replace(/^\[Batch \d+ /u, ''))
  const batches = new Map<string, Found>()
  const messages = new Map<string, Found & { kind: 'message' }>()
  const editionIds = new Set<string>()

  function archive(fact: RecordedFact): void {
    if (!isOfType(fact, 'BatchArchived')) return
    for (const id of fact.data.messageIds) {
      const message = messages.get(id)
      if (message !== undefined) messages.set(id, { batchId: fact.data.batchId, ...message })
    }
  }

  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    const fact = await decodeFact(stored, log.bodies)
    for (const batch of batchesOf(fact)) {
      const hit = findBatch(batchTexts(batch))
      if (hit !== undefined) batches.set(batch.batchId, { kind: 'batch', ...spanOf(batch), ...hit })
    }
    if (isOfType(fact, 'MessageAppended')) {
      const hit = find(textsOf(fact.data))
      if (hit !== undefined) messages.set(fact.data.messageId, { kind: 'message', messageId: fact.data.messageId, revision: fact.revision, ...hit })
    } else if (isOfType(fact, 'EditionAdopted')) editionIds.add(fact.data.editionId)
    archive(fact)
  }
  // A message may have left for an edition's batches alone.
  const areCovered = (): boolean => [...messages.values()].every(({ batchId }) => batchId !== undefined)
  for (const editionId of batches.size > 0 || areCovered() ? [] : editionIds) {
    for await (const stored of log.store.readStream(editionStream(editionId, conversationId))) {
      if (stored.type === 'BatchArchived') archive(await decodeFact(stored, log.bodies))
    }
  }
  return traceOf([...batches.values()]) ?? traceOf([...messages.values()].filter(({ batchId }) => batchId !== undefined))
}

/** The trace of a line; undefined where nothing that the model ever saw of this conversation has it. */
export async function traceLine(log: Log, state: Conversation, line: string): Promise<Trace | undefined> {
  return inContext(line, lineFinder(line), state) ?? (await inArchive(log, state.conversationId, line))
}
