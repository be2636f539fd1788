/**
 * Where a line comes from that the model saw: the batches and messages that have it, or what of the context's own it is. What the context
 * shows now is asked first; then everything that was archived, which reads the conversation once; then what the contexts of earlier
 * revisions showed otherwise than it is recorded, which folds the conversation once more.
 */
import { either as E } from 'fp-ts'
import { summaryOf } from '../domain/batch.js'
import { arrange, type Layout } from '../domain/context.js'
import { evolve, initialState, type Conversation, type LiveMessage } from '../domain/conversation.js'
import { closingTypes, type FactData, type RecordedFact, type TakeoverType } from '../domain/events.js'
import { lineFinder, type Match } from '../domain/find-line.js'
import { conversationStream, editionStream } from '../domain/ids.js'
import { contentText, type MessageBody } from '../domain/message.js'
import { hardLimit } from '../domain/policy.js'
import { sectionLines } from '../domain/session-summary.js'
import { decodeFact, isOfType, takesOver } from './facts.js'
import type { Log } from './load-conversation.js'

/** A batch or a message that a line may come from. */
export type LineSource = { readonly excerpt: string } & (
  | { readonly kind: 'batch'; readonly batchId: string; readonly depth: number; readonly startTime: string; readonly endTime: string }
  /** `batchId` is the batch that it was archived in; undefined while it is live. */
  | { readonly kind: 'message'; readonly messageId: string; readonly revision: bigint; readonly batchId?: string }
)

export type Trace =
  | { readonly kind: 'sources'; readonly match: Match; readonly sources: readonly LineSource[] }
  /** A line of the view's own, which counts, orders or says what is omitted. `at`: the newest revision that is known to show it. */
  | { readonly kind: 'view'; readonly match: Match; readonly at: bigint }
  /** Shown and recorded nowhere. */
  | { readonly kind: 'shown-only'; readonly what: ShownOnly; readonly excerpt: string; readonly at: bigint }

/** A placeholder for a result that was not there yet, or the note that says how many groups are left out. */
export type ShownOnly = 'placeholder' | 'note'

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

/** The texts of a message, as it is recorded or as it is shown. */
const textsOf = (message: Pick<MessageBody, 'content' | 'toolCalls'>): string[] => [contentText(message.content), ...callTexts(message.toolCalls)]
function inMessage(find: Finder, texts: readonly string[], { messageId, revision }: Pick<LiveMessage, 'messageId' | 'revision'>): Found[] {
  const hit = find(texts)
  return hit === undefined ? [] : [{ kind: 'message', messageId, revision, ...hit }]
}

const spanOf = ({ batchId, depth, startTime, endTime }: { readonly batchId: string; readonly depth: number; readonly startTime: string; readonly endTime: string }) => ({ batchId, depth, startTime, endTime })

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

/** The batches of the view that are shown shortened, and have the line so. */
function inShortenedView(find: Finder, { shown, originalTask }: Conversation, layout: Layout, whole: Layout): Found[] {
  return layout.view.flatMap((part, at): Found[] => {
    if (part.kind === 'line' || part.text === whole.view[at]?.text) return []
    const batch = shown.find(({ batchId }) => batchId === part.batchId)
    const hit = find([part.text])
    if (batch !== undefined) return hit === undefined ? [] : [{ kind: 'batch', ...spanOf(batch), ...hit }]
    return originalTask === undefined ? [] : inMessage(find, [part.text], originalTask)
  })
}

/** What a context shows otherwise than it is recorded: the batches and messages behind it, else what is of the context's own. */
function shownOtherwise(find: Finder, state: Conversation): { readonly found: readonly Found[]; readonly own: Trace | undefined } {
  const arranged = arrange(state)
  if (E.isLeft(arranged)) return { found: [], own: undefined }
  const { layout, whole } = arranged.right
  const shown = [...layout.kept, ...layout.window].flat()
  const found = [
    ...inShortenedView(find, state, layout, whole),
    ...shown.flatMap(({ body, source }) => (source === undefined || body === source ? [] : inMessage(find, textsOf(body), source))),
  ]
  const at = state.revision
  const shownOnly = (what: ShownOnly, texts: readonly string[]): Trace | undefined => {
    const hit = find(texts)
    return hit === undefined ? undefined : { kind: 'shown-only', what, excerpt: hit.excerpt, at }
  }
  const inLines = find(layout.view.map((part) => part.text))
  const own =
    inLines !== undefined ? { kind: 'view', match: inLines.match, at } as const
    : shownOnly('placeholder', shown.flatMap(({ body, source }) => (source === undefined ? textsOf(body) : []))) ?? shownOnly('note', layout.note === undefined ? [] : [layout.note])
  return { found, own }
}

/** What the context shows now. */
function inContext(find: Finder, state: Conversation): Trace | undefined {
  const { found, own } = shownOtherwise(find, state)
  const messages = [...state.leading, ...state.kept, ...state.window].flatMap((message) => inMessage(find, textsOf(message), message))
  const asShown = found.filter((source) => source.kind === 'batch' || !messages.some((message) => message.kind === 'message' && message.messageId === source.messageId))
  return traceOf([...inView(find, state), ...messages, ...asShown]) ?? own
}

/** What a batch was shown as, and what its sections say. Its number in the view changes from cycle to cycle; the rest of its head does not. */
function batchTexts(batch: RecordedBatch): string[] {
  return [batch.content, `— depth ${String(batch.depth)}, ${batch.startTime} to ${batch.endTime}]\n${summaryOf(batch)}`, ...(batch.sections === undefined ? [] : sectionLines(batch.sections))]
}

/** The batches that a fact brings into the conversation. */
function batchesOf(fact: RecordedFact): readonly RecordedBatch[] {
  if (isOfType(fact, 'BatchArchived', 'BatchesResummarized')) return [fact.data]
  return takesOver(fact) ? fact.data.batches : []
}

/** Messages that have the line, with the batch that each was archived in. */
class FoundMessages {
  readonly byId = new Map<string, Found & { kind: 'message' }>()
  private readonly editionIds = new Set<string>()
  /** By message, the batch that it was in before it came back. */
  private readonly left = new Map<string, string>()

  constructor(private readonly log: Log, private readonly conversationId: string) {}

  add(found: Found & { kind: 'message' }): void {
    this.byId.set(found.messageId, { ...this.byId.get(found.messageId), ...found })
  }

  /** Follows where they went, by the next fact of the conversation. */
  follow(fact: RecordedFact): void {
    if (isOfType(fact, 'BatchArchived')) this.archive(fact)
    else if (takesOver(fact)) {
      if (isOfType(fact, 'EditionAdopted')) this.editionIds.add(fact.data.editionId)
      for (const { messageId } of fact.data.restored) {
        const message = this.byId.get(messageId)
        if (message === undefined) continue
        const { batchId, ...live } = message
        if (batchId !== undefined) this.left.set(messageId, batchId)
        this.byId.set(messageId, live)
      }
      // What an edition had brought back leaves with it, into the batch that it was in before.
      for (const id of isOfType(fact, 'EditionReverted') ? fact.data.left : []) {
        const message = this.byId.get(id)
        const batchId = this.left.get(id)
        if (message !== undefined && batchId !== undefined) this.byId.set(id, { ...message, batchId })
      }
    }
  }

  private archive({ data: { batchId, messageIds } }: RecordedFact<'BatchArchived'>): void {
    for (const id of messageIds) {
      const message = this.byId.get(id)
      if (message !== undefined) this.byId.set(id, { ...message, batchId })
    }
  }

  /** Looks for those that left for an edition's batches alone. Of editions only what was in force was ever seen. */
  async followIntoEditions(liveIds: ReadonlySet<string>): Promise<void> {
    const areCovered = [...this.byId.values()].every(({ messageId, batchId }) => batchId !== undefined || liveIds.has(messageId))
    for (const editionId of areCovered ? [] : this.editionIds) {
      for await (const stored of this.log.store.readStream(editionStream(editionId, this.conversationId))) {
        if (stored.type !== 'BatchArchived') continue
        const fact = await decodeFact(stored, this.log.bodies)
        if (isOfType(fact, 'BatchArchived')) this.archive(fact)
      }
    }
  }
}

const liveIdsOf = ({ leading, kept, window }: Conversation): ReadonlySet<string> => new Set([...leading, ...kept, ...window].map(({ messageId }) => messageId))

/** Everything that was archived: batches, else the messages that they cover. */
async function inArchive(log: Log, state: Conversation, line: string): Promise<Trace | undefined> {
  const { conversationId } = state
  const find = lineFinder(line)
  const findBatch = lineFinder(line.trim().replace(/^\[Batch \d+ /u, ''))
  const batches = new Map<string, Found>()
  const messages = new FoundMessages(log, conversationId)
  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    const fact = await decodeFact(stored, log.bodies)
    for (const batch of batchesOf(fact)) {
      const hit = findBatch(batchTexts(batch))
      if (hit !== undefined) batches.set(batch.batchId, { kind: 'batch', ...spanOf(batch), ...hit })
    }
    if (isOfType(fact, 'MessageAppended')) {
      const hit = find(textsOf(fact.data))
      if (hit !== undefined) messages.add({ kind: 'message', messageId: fact.data.messageId, revision: fact.revision, ...hit })
    }
    messages.follow(fact)
  }
  if (batches.size > 0) return traceOf([...batches.values()])
  await messages.followIntoEditions(liveIdsOf(state))
  return traceOf([...messages.byId.values()].filter(({ batchId }) => batchId !== undefined))
}

/** Whether a context behind this fact may show what the one before it did not, beside the message itself. */
function showsAnew(fact: RecordedFact, { configuration, tokens }: Conversation): boolean {
  if (isOfType(fact, 'MessageAppended') && (fact.data.role === 'tool' || fact.data.toolCalls !== undefined)) return true
  if (isOfType(fact, 'ConversationConfigured', ...closingTypes)) return true
  return configuration !== undefined && tokens > hardLimit(configuration.policy)
}

/** What the contexts of all revisions showed otherwise than it is recorded: shortened, or of the context's own. */
async function inHistory(log: Log, { conversationId }: Conversation, find: Finder): Promise<Trace | undefined> {
  const batches = new Map<string, Found>()
  const messages = new FoundMessages(log, conversationId)
  let last: Trace | undefined
  let state = initialState(conversationId)
  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    const fact = await decodeFact(stored, log.bodies)
    state = evolve(state, fact)
    messages.follow(fact)
    if (!showsAnew(fact, state)) continue
    const { found, own } = shownOtherwise(find, state)
    for (const source of found) {
      if (source.kind === 'batch') batches.set(source.batchId, source)
      else messages.add(source)
    }
    last = own ?? last
  }
  await messages.followIntoEditions(liveIdsOf(state))
  return traceOf([...batches.values(), ...messages.byId.values()]) ?? last
}

/** The trace of a line; undefined where nothing that the model ever saw of this conversation has it. */
export async function traceLine(log: Log, state: Conversation, line: string): Promise<Trace | undefined> {
  const find = lineFinder(line)
  return inContext(find, state) ?? (await inArchive(log, state, line)) ?? (await inHistory(log, state, find))
}
