/**
 * What an edition itself costs, when the model answers at once: the conversations of the data folder compacted again by
 * another prompt, beside compacting them the first time. Both have the same messages, the same policy and a summarizer
 * that takes no time; both are timed in the ledger as it is used, on the same store.
 *
 * The first compaction is what an import pays for it: each message appended, and settled, before the next, in its
 * conversation (without read models, which are another process's here). The edition is `replay` over all of them, one
 * at a time: looking for recorded summaries, loading each conversation and reading its messages, planning at each, and
 * recording. The model's own time is in neither.
 */
import { either as E } from 'fp-ts'
import { createPostgresBodyStore } from '../src/adapters/postgres/body-store.js'
import { createPostgresClaims } from '../src/adapters/postgres/claims.js'
import { createPostgresEventStore } from '../src/adapters/postgres/event-store.js'
import { migrateLog } from '../src/adapters/postgres/schema.js'
import { createPostgresSpending } from '../src/adapters/postgres/spending.js'
import { createAppendMessages } from '../src/recording/append-messages.js'
import { createCompact, isCompactionDue } from '../src/compaction/compact.js'
import { createConversations } from '../src/recording/handle-command.js'
import { createRegisterPrompt } from '../src/recording/register-prompt.js'
import { replay, type Replay } from '../src/editions/replay.js'
import { parseMessage } from '../src/domain/values/message.js'
import type { PolicySettings } from '../src/domain/values/policy.js'
import { systemClock as clock } from '../src/ports/clock.js'
import type { LanguageModel } from '../src/ports/language-model.js'
import type { Database } from '../src/ports/sql.js'
import type { Summarizer } from '../src/ports/summarizer.js'
import { createExtractiveSummarizer, createFoldInSummarizer } from '../src/summarizers/index.js'
import { createPrompt } from '../src/summarizers/prompts.js'
import { conversationsOf, dataFolder, NO_DATA, type DataConversation } from './support/data.js'
import { atMost, milliseconds, told, type Figure, type Group } from './support/figures.js'
import { openDatabase } from './support/places.js'

const WINDOWS = [8_000, 32_000] as const
const ANSWER = 'Some steps were done, and none of them failed; what is open is still open. '

/** Answers at once, a short text. */
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

/** Appends and settles message by message; gives the time that it took. */
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
      const done = await append({
        conversationId: id,
        messages: [parsed.right],
        settings,
        scope: undefined,
        provenance,
      })
      if (E.isLeft(done)) throw new Error(`a message of ${id} was refused: ${done.left.kind}`)
      if (isCompactionDue(done.right.state, 'ahead')) await compact(id, 'ahead')
    }
  }
  return performance.now() - started
}

async function again(
  { db, log }: Used,
  histories: readonly DataConversation[],
): Promise<{ readonly ms: number; readonly done: Replay }> {
  // A process of its own would know nothing of these conversations either.
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
  const done = await replay(deps, { conversationIds: histories.map(({ id }) => id), concurrency: 1 })
  const ms = performance.now() - started
  if (done.conversations.some(({ outcome }) => outcome.kind !== 'done')) throw new Error('the edition is not whole')
  return { ms, done }
}

export const group: Group = {
  title: 'Editions',
  async run(bench) {
    if (dataFolder === undefined) return NO_DATA
    const histories = [...conversationsOf(dataFolder)]
    const messages = histories.reduce((sum, conversation) => sum + conversation.messages.length, 0)
    const figures: Figure[] = []
    for (const window of WINDOWS) {
      const place = await bench.place('editions')
      const db = await openDatabase(place.store)
      try {
        await migrateLog(db)
        const log = { store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) }
        const used: Used = { db, log, conversations: createConversations({ log, clock }) }
        bench.say(`the first compaction at ${window.toLocaleString('en')} tokens`)
        const first = await firstTime(used, histories, { modelMaxTokens: window })
        bench.say('the edition')
        const { ms, done } = await again(used, histories)
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
          told(`${name}, a message`, ms / messages, milliseconds, {
            name: 'the first compaction',
            value: first / messages,
          }),
        )
      } finally {
        await db.close()
        await place.remove()
      }
    }
    return figures
  },
}
