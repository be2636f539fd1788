/**
 * The cost of an edition without the model's time: all conversations of the data directory are compacted again with
 * another prompt. The baseline is their first compaction. Both have the same messages, policy and store, and a
 * summarizer without delay.
 *
 * The first compaction is the cost during an import: each message is appended and settled before the next one (without
 * read models, which another process runs). The edition is `replay` over all conversations, one at a time: it looks for
 * recorded summaries, loads each conversation, reads its messages, plans at each message, and records. The model's own
 * time is in neither.
 */
import { either as E } from 'fp-ts'
import { createPostgresBodyStore } from '../src/adapters/postgres/body-store.js'
import { createPostgresClaims } from '../src/adapters/postgres/claims.js'
import { createPostgresEventStore } from '../src/adapters/postgres/event-store.js'
import { migrateLog } from '../src/adapters/postgres/schema.js'
import { createPostgresSpending } from '../src/adapters/postgres/spending.js'
import { createAppendMessages } from '../src/application/recording/append-messages.js'
import { createCompact, isCompactionDue } from '../src/application/compaction/compact.js'
import { createConversations } from '../src/application/recording/handle-command.js'
import { createRegisterPrompt } from '../src/application/recording/register-prompt.js'
import { replay, type Replay } from '../src/application/editions/replay.js'
import { parseMessage } from '../src/domain/values/parse-message.js'
import type { PolicySettings } from '../src/domain/values/policy-settings.js'
import { systemClock as clock } from '../src/ports/clock.js'
import type { LanguageModel } from '../src/ports/language-model.js'
import type { Database } from '../src/ports/sql.js'
import type { Summarizer } from '../src/ports/summarizer.js'
import { createExtractiveSummarizer, createFoldInSummarizer } from '../src/application/summarizers/index.js'
import { createPrompt } from '../src/application/summarizers/prompts.js'
import { conversationsOf, dataFolder, NO_DATA, type DataConversation } from './support/data.js'
import { atMost, milliseconds, reported, type Figure, type Group } from './support/figures.js'
import { openDatabase } from './support/places.js'

const WINDOWS = [8_000, 32_000] as const
const ANSWER = 'Some steps were done, and none of them failed; what is open is still open. '

/** Answers immediately with a short text. */
const atOnce: LanguageModel = {
  provider: 'bench',
  model: 'at-once',
  windowTokens: 128_000,
  parameters: ({ temperature, maxOutputTokens }) => ({ temperature, max_tokens: maxOutputTokens }),
  complete:
    ({ prompt }) =>
    () =>
      Promise.resolve(
        E.right({
          text: ANSWER.repeat(2),
          usage: { promptTokens: Math.ceil(prompt.length / 4), completionTokens: 40 },
        }),
      ),
}

const summarizerFor = (prompt: string): Summarizer =>
  createFoldInSummarizer({ model: atOnce, prompt: createPrompt(prompt, `${prompt}: {existing_summary}\n{messages}`) })

interface Used {
  readonly db: Database
  readonly conversations: ReturnType<typeof createConversations>
  readonly log: {
    readonly store: ReturnType<typeof createPostgresEventStore>
    readonly bodies: ReturnType<typeof createPostgresBodyStore>
  }
}

const registered = (log: Used['log']): ReturnType<typeof createRegisterPrompt> => createRegisterPrompt(log, clock)

/** Appends and settles message by message; returns the duration. */
async function firstTime(
  { db, conversations, log }: Used,
  histories: readonly DataConversation[],
  settings: PolicySettings,
): Promise<number> {
  const summarizer = summarizerFor('first')
  const append = createAppendMessages({ conversations, clock, summarizerWindowTokens: summarizer.windowTokens })
  const compact = createCompact({
    conversations,
    summarizer,
    fallback: createExtractiveSummarizer(),
    persona: '',
    claims: createPostgresClaims(db),
    clock,
    registerPrompt: registered(log),
    actor: 'bench',
  })
  const provenance = { actor: 'bench', correlationId: clock.newId(), causationId: clock.newId() }
  const started = performance.now()
  for (const { id, messages } of histories) {
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
      if (isCompactionDue(appended.right.state, 'ahead')) await compact(id, 'ahead')
    }
  }
  return performance.now() - started
}

async function replayAll(
  { db, log }: Used,
  histories: readonly DataConversation[],
): Promise<{ readonly ms: number; readonly done: Replay }> {
  // A separate process would not have these conversations in memory either.
  const conversations = createConversations({ log, clock })
  const deps = {
    log,
    clock,
    conversations,
    claims: createPostgresClaims(db),
    spending: createPostgresSpending(db),
    summarizer: summarizerFor('second'),
    persona: '',
    registerPrompt: registered(log),
    actor: 'bench',
  }
  const started = performance.now()
  const replayed = await replay(deps, { conversationIds: histories.map(({ id }) => id), concurrency: 1 })
  const ms = performance.now() - started
  if (replayed.conversations.some(({ outcome }) => outcome.kind !== 'done')) throw new Error('the edition is not whole')
  return { ms, done: replayed }
}

export const group: Group = {
  title: 'Editions',
  async run(bench) {
    if (dataFolder === undefined) return NO_DATA
    const histories = [...conversationsOf(dataFolder)]
    const messages = histories.reduce((sum, conversation) => sum + conversation.messages.length, 0)
    const figures: Figure[] = []
    for (const window of WINDOWS) {
      const location = await bench.createPlace('editions')
      const db = await openDatabase(location.store)
      try {
        await migrateLog(db)
        const log = { store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) }
        const used: Used = { db, log, conversations: createConversations({ log, clock }) }
        bench.say(`the first compaction at ${window.toLocaleString('en')} tokens`)
        const first = await firstTime(used, histories, { modelMaxTokens: window })
        bench.say('the edition')
        const { ms, done } = await replayAll(used, histories)
        const name = `an edition at ${window.toLocaleString('en')} tokens`
        figures.push(
          atMost(
            name,
            ms,
            { name: 'the first compaction', value: first },
            1.5,
            milliseconds,
            `${messages.toLocaleString('en')} messages in ${String(histories.length)} conversations, ${done.conversations.reduce((sum, { summaries }) => sum + summaries, 0).toLocaleString('en')} summaries; the first one appends each message and settles it, the edition reads them; neither keeps read models`,
          ),
          reported(`${name}, a message`, ms / messages, milliseconds, {
            name: 'the first compaction',
            value: first / messages,
          }),
        )
      } finally {
        await db.close()
        await location.remove()
      }
    }
    return figures
  },
}
