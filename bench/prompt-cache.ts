/**
 * What summaries take of a provider's prompt cache: an agent's requests and its summaries go to one provider, whose
 * cache is reckoned as OpenAI documents it (support/prompt-cache.ts). What is counted is the usage that the facts record.
 */
import { either as E } from 'fp-ts'
import { createMemoryBodyStore } from '../src/adapters/memory/body-store.js'
import { createMemoryClaims } from '../src/adapters/memory/claims.js'
import { createMemoryEventStore } from '../src/adapters/memory/event-store.js'
import { createCompact, isCompactionDue } from '../src/compaction/compact.js'
import { contextOf } from '../src/domain/compaction/context.js'
import { conversationStream } from '../src/domain/values/ids.js'
import { parseMessage } from '../src/domain/values/message.js'
import { systemClock as clock } from '../src/ports/clock.js'
import type { LanguageModel } from '../src/ports/language-model.js'
import type { Summarizer } from '../src/ports/summarizer.js'
import { createAppendMessages } from '../src/recording/append-messages.js'
import { createConversations } from '../src/recording/handle-command.js'
import { decodeEvent, isOfType } from '../src/recording/read-event.js'
import { createFoldInSummarizer, createRidePrefixSummarizer } from '../src/summarizers/index.js'
import { conversationsOf, dataFolder, NO_DATA } from './support/data.js'
import { atMost, type Figure, type Group } from './support/figures.js'
import { createCachedModel, PromptCache } from './support/prompt-cache.js'

/** Tools of a coding agent, as its requests have them. */
const TOOLS = ['read', 'write', 'run', 'search'].map((name) => ({
  type: 'function',
  function: { name, description: `How to ${name}, and when not to. `.repeat(20), parameters: { type: 'object' } },
}))

/** What the summaries of a conversation took. */
export interface Taken {
  readonly summaries: number
  readonly promptTokens: number
  readonly cachedTokens: number
}

/** Plays a conversation: each answer is asked for with the context of then, and what is due is compacted behind it. */
export async function takenBy(
  messages: Iterable<unknown>,
  modelMaxTokens: number,
  create: (model: LanguageModel) => Summarizer,
): Promise<Taken> {
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
    const done = await append({ conversationId: 'a', messages: [parsed.right], settings, scope: undefined, provenance })
    if (E.isLeft(done)) throw new Error(`a message was refused: ${done.left.kind}`)
    if (isCompactionDue(done.right.state)) await compact('a', 'due')
  }
  let taken: Taken = { summaries: 0, promptTokens: 0, cachedTokens: 0 }
  for await (const stored of log.store.readStream(conversationStream('a'))) {
    const event = await decodeEvent(stored, log.bodies)
    if (!isOfType(event, 'ChunkSummarized', 'BatchesResummarized')) continue
    const { promptTokens = 0, cachedTokens = 0 } = event.data.summarizer.usage ?? {}
    taken = {
      summaries: taken.summaries + 1,
      promptTokens: taken.promptTokens + promptTokens,
      cachedTokens: taken.cachedTokens + cachedTokens,
    }
  }
  return taken
}

/** Both strategies over the same messages. */
export const compared = async (
  messages: readonly unknown[],
  modelMaxTokens: number,
): Promise<{ readonly ride: Taken; readonly fold: Taken }> => ({
  ride: await takenBy(messages, modelMaxTokens, (model) => createRidePrefixSummarizer({ model, tools: TOOLS })),
  fold: await takenBy(messages, modelMaxTokens, (model) => createFoldInSummarizer({ model })),
})

const sum = (a: Taken, b: Taken): Taken => ({
  summaries: a.summaries + b.summaries,
  promptTokens: a.promptTokens + b.promptTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
})
const NONE: Taken = { summaries: 0, promptTokens: 0, cachedTokens: 0 }
/** What a cached token costs of one that is not, as OpenAI's list has it for most of its models. */
const CACHED_PRICE = 0.1

const tokens = (value: number): string => `${Math.round(value).toLocaleString('en')} tokens`
const inFull = ({ promptTokens, cachedTokens }: Taken): number => promptTokens - cachedTokens
const charged = (taken: Taken): number => inFull(taken) + taken.cachedTokens * CACHED_PRICE
const told = ({ summaries, promptTokens, cachedTokens }: Taken): string =>
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
          note: `ride-prefix: ${told(ride)}; fold-in: ${told(fold)}`,
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
