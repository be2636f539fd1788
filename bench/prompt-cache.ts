/**
 * The effect of summaries on a provider's prompt cache: an agent's requests and its summaries go to one provider, whose
 * cache is simulated as OpenAI documents it (support/prompt-cache.ts). The figures are the usage in the recorded
 * events.
 */
import { either as E } from 'fp-ts'
import { createMemoryBodyStore } from '../src/adapters/memory/body-store.js'
import { createMemoryClaims } from '../src/adapters/memory/claims.js'
import { createMemoryEventStore } from '../src/adapters/memory/event-store.js'
import { createCompact, isCompactionDue } from '../src/application/compaction/compact.js'
import { contextOf } from '../src/domain/compaction/context.js'
import { conversationStream } from '../src/domain/values/ids.js'
import { parseMessage } from '../src/domain/values/parse-message.js'
import { systemClock as clock } from '../src/ports/clock.js'
import type { LanguageModel } from '../src/ports/language-model.js'
import type { Summarizer } from '../src/ports/summarizer.js'
import { createAppendMessages } from '../src/application/recording/append-messages.js'
import { createConversations } from '../src/application/recording/handle-command.js'
import { decodeEvent, isOfType } from '../src/application/recording/read-event.js'
import { createFoldInSummarizer, createRidePrefixSummarizer } from '../src/application/summarizers/index.js'
import { conversationsOf, dataFolder, NO_DATA } from './support/data.js'
import { atMost, type Figure, type Group } from './support/figures.js'
import { createCachedModel, PromptCache } from './support/prompt-cache.js'

/** Tools of a coding agent, as its requests have them. */
const TOOLS = ['read', 'write', 'run', 'search'].map((name) => ({
  type: 'function',
  function: { name, description: `How to ${name}, and when not to. `.repeat(20), parameters: { type: 'object' } },
}))

/** The usage of the summaries of a conversation. */
export interface SummaryUsage {
  readonly summaries: number
  readonly promptTokens: number
  readonly cachedTokens: number
}

/** Plays a conversation: each answer is requested with the current context, and due compactions follow it. */
export async function summaryUsageOf(
  messages: Iterable<unknown>,
  modelMaxTokens: number,
  create: (model: LanguageModel) => Summarizer,
): Promise<SummaryUsage> {
  const log = { store: createMemoryEventStore(), bodies: createMemoryBodyStore() }
  const cache = new PromptCache()
  const summarizer = create(createCachedModel(cache, modelMaxTokens * 2))
  const conversations = createConversations({ log, clock, alone: true })
  const append = createAppendMessages({ conversations, clock, summarizerWindowTokens: summarizer.windowTokens })
  const compact = createCompact({
    conversations,
    summarizer,
    persona: '',
    claims: createMemoryClaims(clock),
    clock,
    registerPrompt: () => Promise.resolve(),
    actor: 'bench',
  })
  const provenance = { actor: 'bench', correlationId: clock.newId(), causationId: clock.newId() }
  const settings = { modelMaxTokens }
  for (const message of messages) {
    const parsed = parseMessage(message)
    if (E.isLeft(parsed)) throw new Error(`a message cannot be taken: ${parsed.left.detail}`)
    if (parsed.right.role === 'assistant') {
      const context = contextOf(await conversations.load('a'))
      if (E.isRight(context)) cache.take(TOOLS, context.right.messages)
    }
    const appended = await append({
      conversationId: 'a',
      messages: [parsed.right],
      settings,
      scope: undefined,
      provenance,
    })
    if (E.isLeft(appended)) throw new Error(`a message was refused: ${appended.left.kind}`)
    if (isCompactionDue(appended.right.state)) await compact('a', 'due')
  }
  let usage: SummaryUsage = { summaries: 0, promptTokens: 0, cachedTokens: 0 }
  for await (const stored of log.store.readStream(conversationStream('a'))) {
    const event = await decodeEvent(stored, log)
    if (!isOfType(event, 'ChunkSummarized', 'BatchesResummarized')) continue
    const { promptTokens = 0, cachedTokens = 0 } = event.data.summarizer.usage ?? {}
    usage = {
      summaries: usage.summaries + 1,
      promptTokens: usage.promptTokens + promptTokens,
      cachedTokens: usage.cachedTokens + cachedTokens,
    }
  }
  return usage
}

/** Both strategies over the same messages. */
export const compared = async (
  messages: readonly unknown[],
  modelMaxTokens: number,
): Promise<{ readonly ride: SummaryUsage; readonly fold: SummaryUsage }> => ({
  ride: await summaryUsageOf(messages, modelMaxTokens, (model) => createRidePrefixSummarizer({ model, tools: TOOLS })),
  fold: await summaryUsageOf(messages, modelMaxTokens, (model) => createFoldInSummarizer({ model })),
})

const sum = (a: SummaryUsage, b: SummaryUsage): SummaryUsage => ({
  summaries: a.summaries + b.summaries,
  promptTokens: a.promptTokens + b.promptTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
})
const NONE: SummaryUsage = { summaries: 0, promptTokens: 0, cachedTokens: 0 }
/** Price of a cached token relative to an uncached one, in OpenAI's price list for most models. */
const CACHED_PRICE = 0.1

const tokens = (value: number): string => `${Math.round(value).toLocaleString('en')} tokens`
const inFull = ({ promptTokens, cachedTokens }: SummaryUsage): number => promptTokens - cachedTokens
const charged = (taken: SummaryUsage): number => inFull(taken) + taken.cachedTokens * CACHED_PRICE
const describe = ({ summaries, promptTokens, cachedTokens }: SummaryUsage): string =>
  `${summaries.toLocaleString('en')} summaries, ${tokens(promptTokens)} of prompts, ${tokens(cachedTokens)} of them cached`

export const group: Group = {
  title: 'Prompt cache of summaries',
  anyEngine: true,
  async run(bench) {
    if (dataFolder === undefined) return NO_DATA
    const figures: Figure[] = []
    for (const window of [16_000, 64_000]) {
      bench.say(`at ${window.toLocaleString('en')} tokens`)
      let [ride, fold] = [NONE, NONE]
      for (const { messages } of conversationsOf(dataFolder)) {
        const both = await compared([...messages], window)
        ride = sum(ride, both.ride)
        fold = sum(fold, both.fold)
      }
      const at = `at a window of ${window.toLocaleString('en')} tokens`
      figures.push(
        {
          ...atMost(
            `uncached prompt tokens of ride-prefix ${at}`,
            inFull(ride),
            { name: 'fold-in', value: inFull(fold) },
            1,
            tokens,
          ),
          note: `ride-prefix: ${describe(ride)}; fold-in: ${describe(fold)}`,
        },
        {
          ...atMost(
            `prompt tokens as they are charged, of ride-prefix ${at}`,
            charged(ride),
            { name: 'fold-in', value: charged(fold) },
            1,
            tokens,
          ),
          note: 'a cached token counts a tenth',
        },
      )
    }
    return figures
  },
}
