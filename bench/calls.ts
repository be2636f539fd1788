/**
 * How often a summarizer is asked: all conversations of the data folder, message by message, at the defaults and at a
 * policy of chunks by count alone, summaries of 1,024 tokens and a buffer of 2. What is asked does not depend on the
 * store, so it is counted over the one in memory.
 */
import { either as E } from 'fp-ts'
import { createMemoryBodyStore } from '../src/adapters/memory/body-store.js'
import { createMemoryClaims } from '../src/adapters/memory/claims.js'
import { createMemoryEventStore } from '../src/adapters/memory/event-store.js'
import { createAppendMessages } from '../src/recording/append-messages.js'
import { createCompact, isCompactionDue } from '../src/compaction/compact.js'
import { createConversations } from '../src/recording/handle-command.js'
import { parseMessage } from '../src/domain/values/message.js'
import type { PolicySettings } from '../src/domain/values/policy.js'
import { systemClock as clock } from '../src/ports/clock.js'
import { createExtractiveSummarizer } from '../src/summarizers/index.js'
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
    const done = await append({ conversationId: id, messages: [parsed.right], settings, scope: undefined, provenance })
    if (E.isLeft(done)) throw new Error(`a message of ${id} was refused: ${done.left.kind}`)
    if (isCompactionDue(done.right.state)) await compact(id, 'due')
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
      let ours = 0
      let theirs = 0
      for (const conversation of conversationsOf(dataFolder)) {
        ours += await callsFor(conversation, { modelMaxTokens: window })
        theirs += await callsFor(conversation, { modelMaxTokens: window, ...BASELINE })
      }
      figures.push(
        atMost(
          `summarizer calls at ${window.toLocaleString('en')} tokens`,
          ours,
          { name: 'chunks by count, 1,024 tokens a summary, buffer 2', value: theirs },
          most,
          count,
        ),
      )
    }
    return figures
  },
}
