/**
 * Histories in which everything that can be put into force is: editions, made by the use cases themselves over a
 * harness, and undone cycles.
 */
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { revertEdition, undoCycles } from '../../src/application/editions/undo-and-revert.js'
import { createEditionConversation } from '../../src/application/editions/edition-conversations.js'
import { loadEdition } from '../../src/application/recording/load-conversation.js'
import type { ConversationReplay } from '../../src/application/editions/replay-conversation.js'
import type { Conversation } from '../../src/domain/conversation/conversation.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import type { PolicySettings } from '../../src/domain/values/policy-settings.js'
import type { EventStore } from '../../src/ports/event-store.js'
import { PROJECTED_PREFIXES, subjectOf } from '../../projections/engine/streams.js'
import { decodeStored } from './builders.js'
import { say, SMALL } from './conversations.js'
import { editionOf } from './editions.js'
import { CONVERSATION, createHarness, createScriptedSummarizer, type Harness } from './harness.js'

const BY = { actor: 'test', correlationId: 'c', causationId: 'c' }

/** A policy that folds otherwise than `SMALL`: an edition of it leaves other messages live, in other batches. */
const OTHER: PolicySettings = {
  ...SMALL,
  modelMaxTokens: 1_400,
  chunkSize: 5,
  keepRecent: 4,
  clipFirst: 1,
  clipLast: 1,
  buffer: 2,
}

/** Takes up an edition, or begins it, and makes it as far as the conversation goes. */
export async function madeEdition(
  harness: Harness,
  editionId: string,
  settings: PolicySettings = OTHER,
  conversationId = CONVERSATION,
): Promise<ConversationReplay> {
  const edition = await editionOf(
    harness,
    settings,
    createScriptedSummarizer({ model: `the model of ${editionId}` }),
    editionId,
    conversationId,
  )
  const made = await edition.advance()
  if (made.kind !== 'done') throw new Error(`the edition is not made: ${made.kind}`)
  return edition
}

/** Makes an edition as far as the conversation goes, and asks to adopt it; false where that is refused. */
export async function tryToAdopt(
  harness: Harness,
  editionId: string,
  settings: PolicySettings = OTHER,
  conversationId = CONVERSATION,
): Promise<boolean> {
  const replay = await madeEdition(harness, editionId, settings, conversationId)
  return E.isRight(
    await harness.conversations.handle(conversationId, [{ type: 'AdoptEdition', edition: replay.state() }], BY),
  )
}

export const revert = async (harness: Harness, conversationId = CONVERSATION): Promise<boolean> =>
  E.isRight(await revertEdition(harness, conversationId, BY))

/** Undoes this number of the last cycles. */
export async function undo(harness: Harness, count = 1, conversationId = CONVERSATION): Promise<boolean> {
  const { cycles } = await harness.conversations.load(conversationId)
  return E.isRight(await undoCycles(harness, conversationId, Math.max(1, cycles + 1 - count), BY))
}

/** Drops an edition: a fact in its own stream. */
export async function dropEdition(harness: Harness, editionId: string): Promise<void> {
  const state = await loadEdition(harness.log, CONVERSATION, editionId)
  if (state.configuration === undefined) return
  const edition = createEditionConversation(
    { log: harness.log, clock: harness.clock, recording: true },
    state,
    state.conversationRevision,
  )
  await edition.handle(CONVERSATION, [{ type: 'DropEdition' }], BY)
}

/** What may happen at any time, and also while a summary is made. */
type QuickStep =
  | { readonly do: 'adopt'; readonly edition: string }
  | { readonly do: 'undo'; readonly count: number }
  | { readonly do: 'revert' | 'pin' }

export type EditionStep =
  | QuickStep
  | { readonly do: 'append'; readonly count: number }
  | { readonly do: 'make'; readonly edition: string }
  | { readonly do: 'drop'; readonly edition: string }
  | { readonly do: 'compact' }
  /** A cycle, and what happens while one of its summaries is made. */
  | { readonly do: 'compact-while'; readonly nth: number; readonly step: QuickStep }

const edition = fc.constantFrom('e1', 'e2')

const quickStep: fc.Arbitrary<QuickStep> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('adopt' as const), edition }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('undo' as const), count: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('revert' as const, 'revert' as const, 'pin' as const) }) },
)

/**
 * Histories in which editions are begun, made further, adopted, put back and dropped, cycles undone, and messages come
 * between.
 */
export const editionSteps: fc.Arbitrary<readonly EditionStep[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('append' as const), count: fc.integer({ min: 1, max: 12 }) }) },
    {
      weight: 2,
      arbitrary: fc.oneof(
        fc.record({ do: fc.constant('make' as const), edition }),
        fc.record({ do: fc.constant('drop' as const), edition }),
      ),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('compact' as const) }) },
    { weight: 5, arbitrary: quickStep },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('compact-while' as const),
        nth: fc.integer({ min: 1, max: 4 }),
        step: quickStep,
      }),
    },
  ),
  { minLength: 4, maxLength: 12 },
)

/** One that has everything in it, once. */
export const everyStep: readonly EditionStep[] = [
  { do: 'compact' },
  { do: 'make', edition: 'e1' },
  { do: 'append', count: 6 },
  { do: 'adopt', edition: 'e1' },
  { do: 'pin' },
  { do: 'append', count: 12 },
  { do: 'compact' },
  { do: 'undo', count: 1 },
  { do: 'append', count: 9 },
  { do: 'compact' },
  { do: 'adopt', edition: 'e2' },
  { do: 'append', count: 3 },
  { do: 'revert' },
  { do: 'revert' },
  { do: 'drop', edition: 'e2' },
  { do: 'undo', count: 2 },
  { do: 'append', count: 12 },
  { do: 'compact' },
  { do: 'make', edition: 'e1' },
  { do: 'adopt', edition: 'e1' },
  { do: 'append', count: 1 },
]

/** A conversation with such a history. Refused operations change nothing. */
export async function editionHistory(
  steps: readonly EditionStep[],
  harness = createHarness({ policy: SMALL }),
  after: () => Promise<void> = () => Promise.resolve(),
): Promise<Harness> {
  let messageCount = 0
  const append = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      await harness.appended(say(messageCount))
      await harness.compact()
      messageCount += 1
    }
  }
  async function quickly(step: QuickStep): Promise<void> {
    if (step.do === 'pin') await harness.pin(`m${String(messageCount - 2)}`)
    else if (step.do === 'adopt')
      await tryToAdopt(harness, step.edition, step.edition === 'e1' ? OTHER : { ...OTHER, chunkSize: 4 })
    else if (step.do === 'undo') await undo(harness, step.count)
    else await revert(harness)
  }
  async function compactWhile(nth: number, step: QuickStep): Promise<void> {
    const at = harness.summarizer.calls.length + nth
    harness.summarizer.answer = async (_prepared, call) => {
      if (call === at) await quickly(step)
      return undefined
    }
    await harness.compact('force')
    harness.summarizer.answer = () => undefined
  }
  await append(30)
  for (const step of steps) {
    if (step.do === 'append') await append(step.count)
    else if (step.do === 'compact') await harness.compact('force')
    else if (step.do === 'compact-while') await compactWhile(step.nth, step.step)
    else if (step.do === 'make') await madeEdition(harness, step.edition)
    else if (step.do === 'drop') await dropEdition(harness, step.edition)
    else await quickly(step)
    await after()
  }
  return harness
}

/**
 * The facts that the rows of a conversation are made of: its own and those of its editions, in the order of the log.
 */
export async function projectedEvents(store: EventStore, conversationId: string): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const stored of store.readAll({ prefix: PROJECTED_PREFIXES }))
    if (subjectOf(stored.stream)?.conversationId === conversationId) events.push(await decodeStored(stored))
  return events
}

/**
 * By message, the batch in force that has it, however deep below an active one: of the facts of all streams, and what
 * is active.
 */
export function batchesInForce(
  events: readonly RecordedEvent[],
  { batches }: Conversation,
): ReadonlyMap<string, string> {
  const covers = new Map<string, { messages: readonly string[]; sources: readonly string[] }>()
  for (const event of events) {
    if (event.type === 'BatchArchived') covers.set(event.data.batchId, { messages: event.data.messageIds, sources: [] })
    if (event.type === 'BatchesResummarized')
      covers.set(event.data.batchId, { messages: [], sources: event.data.sourceBatchIds })
  }
  const chain = (batchId: string): readonly (readonly [string, string])[] => {
    const { messages = [], sources = [] } = covers.get(batchId) ?? {}
    return [...messages.map((id) => [id, batchId] as const), ...sources.flatMap(chain)]
  }
  return new Map(batches.flatMap(({ batchId }) => chain(batchId)))
}
