/**
 * Counts summarizer calls: all conversations of the data directory, message by message, with the default policy and
 * with a policy of chunks by count only, summaries of 1,024 tokens and a buffer of 2. The calls do not depend on the
 * store, so the in-memory store is used.
 */
import { either as E } from 'fp-ts'
import { createMemoryBodyStore } from '../src/adapters/memory/body-store.js'
import { createMemoryClaims } from '../src/adapters/memory/claims.js'
import { createMemoryEventStore } from '../src/adapters/memory/event-store.js'
import { createAppendMessages } from '../src/application/recording/append-messages.js'
import { createCompact, isCompactionDue } from '../src/application/compaction/compact.js'
import { createConversations } from '../src/application/recording/handle-command.js'
import { parseMessage } from '../src/domain/values/parse-message.js'
import type { PolicySettings } from '../src/domain/values/policy-settings.js'
import { systemClock as clock } from '../src/ports/clock.js'
import { createExtractiveSummarizer } from '../src/application/summarizers/index.js'
import { counted } from './support/counting.js'
import { conversationsOf, dataFolder, NO_DATA, type DataConversation } from './support/data.js'
import { atMost, type Figure, type Group } from './support/figures.js'

const BASELINE: PolicySettings = { chunkMinTokens: 0, maxSummaryTokens: 1024, buffer: 2 }

async function callsFor({ id, messages }: DataConversation, settings: PolicySettings): Promise<number> {
  const log = { store: createMemoryEventStore(), bodies: createMemoryBodyStore() }
  const { summarizer, calls } = counted(createExtractiveSummarizer())
  const conversations = createConversations({ log, clock, alone: true })
  const append = createAppendMessages({ conversations, clock, summarizerWindowTokens: summarizer.windowTokens })
  const compact = createCompact({
    conversations,
    summarizer,
    fallback: createExtractiveSummarizer(),
    persona: '',
    claims: createMemoryClaims(clock),
    clock,
    registerPrompt: () => Promise.resolve(),
    actor: 'bench',
  })
  const provenance = { actor: 'bench', correlationId: clock.newId(), causationId: clock.newId() }
  for (const message of messages) {
    const parsed = parseMessage(message)
    if (E.isLeft(parsed)) throw new Error(`a message of ${id} cannot be taken: ${parsed.left.detail}`)
    const appended = await append({
      conversationId: id,
      messages: [parsed.right],
      settings,
      scope: undefined,
      provenance,
    })
    if (E.isLeft(appended)) throw new Error(`a message of ${id} was refused: ${appended.left.kind}`)
    if (isCompactionDue(appended.right.state)) await compact(id, 'due')
  }
  return calls()
}

const count = (value: number): string => `${value.toLocaleString('en')} calls`

export const group: Group = {
  title: 'Summarizer calls',
  anyEngine: true,
  async run(bench) {
    if (dataFolder === undefined) return NO_DATA
    const figures: Figure[] = []
    for (const [window, most] of [
      [8_000, 0.55],
      [32_000, 0.75],
    ] as const) {
      bench.say(`at ${window.toLocaleString('en')} tokens`)
      let defaultCalls = 0
      let baselineCalls = 0
      for (const conversation of conversationsOf(dataFolder)) {
        defaultCalls += await callsFor(conversation, { modelMaxTokens: window })
        baselineCalls += await callsFor(conversation, { modelMaxTokens: window, ...BASELINE })
      }
      figures.push(
        atMost(
          `summarizer calls at ${window.toLocaleString('en')} tokens`,
          defaultCalls,
          { name: 'chunks by count, 1,024 tokens a summary, buffer 2', value: baselineCalls },
          most,
          count,
        ),
      )
    }
    return figures
  },
}
