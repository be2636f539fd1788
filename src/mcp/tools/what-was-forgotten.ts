import { z } from 'zod'
import type { ForgottenCycle } from '../../library/ledger.js'
import { QUOTATION, quotation, roomOf, type Room } from '../quotation.js'
import { READS, toolOfConversation } from '../tool.js'

const VERDICTS = ['kept', 'blurred', 'gone', 'unknown'] as const
const count = z.number().int()
const verdicts = z.object({ kept: count, blurred: count, gone: count, unknown: count })

const item = z.object({
  kind: z.string(),
  text: z.string(),
  verdict: z.enum(VERDICTS),
  messageId: z.string(),
  revision: z.string(),
  mentions: count,
})
const again = z.object({
  tool: z.string(),
  subject: z.string(),
  firstMessageId: z.string(),
  againMessageId: z.string(),
  tokens: z.number(),
})
const cycle = z.object({
  cycle: count,
  revision: z.string(),
  recordedAt: z.string(),
  program: z.string().optional(),
  strategy: z.string().optional(),
  left: z.object({ messages: count, tokens: count }),
  verdicts,
  items: z.array(item),
  itemsLeftOut: count,
  doneAgain: z.array(again),
  doneAgainLeftOut: count,
})

const output = z.object({
  ...quotation,
  conversationId: z.string(),
  totals: z.object({ cycles: count, messages: count, tokens: count, verdicts, doneAgain: count }),
  cycles: z.array(cycle).describe('Newest first'),
  leftOut: z.string().optional(),
})

function cycleTold(
  { cycle: number, revision, recordedAt, keys, report }: ForgottenCycle,
  wanted: ReadonlySet<string>,
  room: Room,
): z.input<typeof cycle> | undefined {
  const sums = { kept: 0, blurred: 0, gone: 0, unknown: 0 }
  for (const counts of Object.values(report.counts)) for (const each of VERDICTS) sums[each] += counts[each]
  const head = {
    cycle: number,
    revision: revision.toString(),
    recordedAt,
    ...(keys.program === undefined ? {} : { program: keys.program }),
    ...(keys.strategy === undefined ? {} : { strategy: keys.strategy }),
    left: { messages: report.left.messages, tokens: report.left.tokens },
    verdicts: sums,
  }
  if (!room.takes({ ...head, items: [], itemsLeftOut: 0, doneAgain: [], doneAgainLeftOut: 0 })) return undefined
  const items = report.items
    .filter(({ verdict }) => wanted.has(verdict))
    .map(({ kind, text, verdict, said, mentions }) => ({
      kind,
      text,
      verdict,
      messageId: said.messageId,
      revision: said.revision,
      mentions,
    }))
  const done = report.doneAgain
    .filter(({ verdict }) => verdict === 'doneAgain')
    .map(({ tool, subject, first, again: second, cost }) => ({
      tool,
      subject: subject.slice(0, 200).toWellFormed(),
      firstMessageId: first.messageId,
      againMessageId: second.messageId,
      tokens: cost.tokens,
    }))
  const doneAgain = [...room.first(done)]
  const told = [...room.first(items)]
  return {
    ...head,
    items: told,
    itemsLeftOut: items.length - told.length,
    doneAgain,
    doneAgainLeftOut: done.length - doneAgain.length,
  }
}

export const whatWasForgotten = toolOfConversation(
  {
    name: 'what_was_forgotten',
    title: 'What compactions forgot',
    description:
      'What left the context and what its summary still has of it: requests, constraints, decisions, errors, files, numbers, each kept, blurred, gone or unknown, with the message that says it; and what was done again behind a compaction. Counted by code.',
    annotations: READS,
    input: {
      cycle: z.number().int().min(1).max(1_000_000_000).optional().describe('Only the cycle of this number, from 1'),
      verdicts: z
        .array(z.enum(VERDICTS))
        .min(1)
        .max(VERDICTS.length)
        .optional()
        .describe('Only items with these verdicts; by default those that are gone or blurred'),
    },
    output,
  },
  async ({ cycle: number, verdicts: wanted = ['gone', 'blurred'] }, { ledger, conversationId, limits, signal }) => {
    const found: ForgottenCycle[] = []
    const { totals } = await ledger.forgotten(conversationId, {
      ...(number === undefined ? {} : { cycle: number }),
      onCycle(each) {
        // A long conversation takes seconds, and nobody may be waiting any more.
        signal.throwIfAborted()
        found.push(each)
      },
    })
    // Why there is no such cycle the difference across it tells.
    if (number !== undefined && found.length === 0) await ledger.diff(conversationId, { cycle: number })
    const room = roomOf(limits.answerCharacters)
    const cycles: z.input<typeof cycle>[] = []
    for (const each of found.toReversed()) {
      const told = cycleTold(each, new Set(wanted), room)
      if (told === undefined) break
      cycles.push(told)
    }
    const { all } = totals
    return {
      quotation: QUOTATION,
      conversationId,
      totals: {
        cycles: all.compactions,
        messages: all.left.messages,
        tokens: all.left.tokens,
        verdicts: all.verdicts,
        doneAgain: all.behind.calls,
      },
      cycles,
      ...(cycles.length === found.length
        ? {}
        : {
            leftOut: `${String(found.length - cycles.length)} older cycles, for which there is no room here: ask for one`,
          }),
    }
  },
)
