/**
 * How much retrievable content the summarizer without a model keeps: every conversation of the directory in
 * `CONTEXT_LEDGER_DATA` (without it, the sample) is compacted message by message, and the loss report counts what the
 * summaries and live messages still contain. `npx tsx scripts/loss-table.ts [WINDOW…]`; the windows are in tokens, 8000
 * and 32000 by default.
 */
import { either as E } from 'fp-ts'
import { createMemoryBodyStore } from '../src/adapters/memory/body-store.js'
import { createMemoryClaims } from '../src/adapters/memory/claims.js'
import { createMemoryEventStore } from '../src/adapters/memory/event-store.js'
import { createAppendMessages } from '../src/application/recording/append-messages.js'
import { createCompact } from '../src/application/compaction/compact.js'
import { createConversations } from '../src/application/recording/handle-command.js'
import { createRegisterPrompt } from '../src/application/recording/register-prompt.js'
import { decodeEvent, isOfType } from '../src/application/recording/read-event.js'
import type { Conversation } from '../src/domain/conversation/conversation.js'
import { lossKinds } from '../src/domain/events/index.js'
import { conversationStream } from '../src/domain/values/ids.js'
import { createLossReport, sideOf, type KindReport } from '../src/domain/reports/loss-report.js'
import { parseMessage } from '../src/domain/values/parse-message.js'
import { systemClock as clock } from '../src/ports/clock.js'
import { createExtractiveSummarizer } from '../src/application/summarizers/index.js'
import { realConversations, type RealConversation } from '../test/support/real-conversations.js'

const BY = { actor: 'measurement', correlationId: 'measurement', causationId: 'measurement' }

/** Compacts a conversation as `import` does, and counts the kept content. */
async function lossesOf({ id, messages }: RealConversation, modelMaxTokens: number): Promise<readonly KindReport[]> {
  const log = { store: createMemoryEventStore(), bodies: createMemoryBodyStore() }
  const conversations = createConversations({ log, clock, alone: true })
  const summarizer = createExtractiveSummarizer()
  const appendMessages = createAppendMessages({ conversations, clock, summarizerWindowTokens: summarizer.windowTokens })
  const compact = createCompact({
    conversations,
    summarizer,
    persona: '',
    claims: createMemoryClaims(clock),
    clock,
    registerPrompt: createRegisterPrompt(log, clock),
    actor: BY.actor,
  })
  for (const message of messages) {
    const parsed = parseMessage(message)
    if (E.isLeft(parsed)) throw new Error(`${id}: ${parsed.left.field} ${parsed.left.detail}`)
    const appended = await appendMessages({
      conversationId: id,
      messages: [parsed.right],
      settings: { modelMaxTokens },
      scope: undefined,
      provenance: BY,
    })
    if (E.isLeft(appended)) throw new Error(`${id}: ${appended.left.kind}`)
    await compact(id, 'due')
  }
  const state: Conversation = await conversations.load(id)
  const side = sideOf(state)
  const report = createLossReport(side, { ...side, liveIds: new Set() }, new Set())
  for await (const stored of log.store.readStream(conversationStream(id))) {
    const event = await decodeEvent(stored, log)
    if (isOfType(event, 'MessageAppended')) report.add(event.data)
  }
  return report.result()
}

const percent = (part: number, whole: number): string => `${((100 * part) / Math.max(1, whole)).toFixed(2)} %`

const windows = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [8_000, 32_000]
process.stdout.write('| window | kind | of | kept | shown |\n|---|---|---|---|---|\n')
for (const window of windows) {
  const sums = new Map(lossKinds.map((kind) => [kind, { total: 0, kept: 0, shown: 0 }]))
  for (const conversation of realConversations()) {
    for (const { kind, total, against } of await lossesOf(conversation, window)) {
      const sum = sums.get(kind)
      if (sum === undefined) continue
      sum.total += total
      sum.kept += against.kept
      sum.shown += against.shown
    }
  }
  for (const [kind, { total, kept, shown }] of sums)
    if (total > 0)
      process.stdout.write(
        `| ${window.toLocaleString('en')} | ${kind} | ${total.toLocaleString('en')} | ${percent(kept, total)} | ${percent(shown, total)} |\n`,
      )
}
