/** The loss report. */
import { z } from 'zod'
import { ITEM_KINDS } from '../../domain/reports/loss-items.js'
import { roleSchema } from '../../domain/values/message.js'
import { unionByKind, count, fieldsFor, oneOf, optional, record, tokens } from '../answer.js'
import { revision, time } from '../fields.js'

const USES = ['read', 'command', 'search', 'web', 'question', 'other'] as const
const byKind = <Schema extends z.ZodType>(schema: Schema) => record(fieldsFor(ITEM_KINDS, schema))

const verdicts = record({ kept: count, partial: count, lost: count, unknown: count })
const amount = record({ messages: count, tokens })
const cost = { calls: count, tokens, milliseconds: z.number() }
const repeated = record({ ...cost, messages: count, unknown: count })
const compared = record({ messages: count, behind: repeated, before: repeated })

const way = record({ calls: count, tokens })
const recoveryGroup = record({
  compactions: count,
  edits: count,
  calls: optional(count),
  tokens: optional(tokens),
  repeated: count,
})

const messageProof = record({
  kind: z.literal('message'),
  messageId: z.string(),
  revision: z.string(),
  text: z.string(),
})
const lineProof = record({ kind: z.literal('summary'), line: count, text: z.string() })

const judged = record({
  verdict: oneOf('kept', 'partial', 'lost', 'unknown'),
  why: optional(oneOf('opaque', 'short', 'script', 'unsure')),
  proof: optional(unionByKind(lineProof, messageProof)),
  overlap: optional(z.number()),
  kind: oneOf(...ITEM_KINDS),
  text: z.string(),
  said: messageProof,
  saidBy: roleSchema,
  mentions: count,
  resolvedBy: optional(messageProof),
  isNeededAgain: optional(z.literal(true)),
  neededAt: optional(messageProof),
  takenBackAt: optional(messageProof),
  matters: optional(z.literal(true)),
}).meta({ id: 'JudgedItem' })

const repeatedCall = {
  use: oneOf(...USES),
  tool: z.string(),
  subject: z.string(),
  first: messageProof,
  again: messageProof,
  cost: record(cost),
}
const repeatedPair = record({
  verdict: oneOf('doneAgain', 'unknown'),
  why: optional(oneOf('otherAnswer', 'changedBetween', 'noAnswer', 'failed')),
  share: z.number(),
  ...repeatedCall,
})

const foremost = record({
  losses: z.array(
    unionByKind(
      record({ kind: z.literal('repeated'), ...repeatedCall }),
      record({ kind: z.literal('item'), item: judged }),
    ),
  ),
  more: count,
  others: byKind(optional(count)),
})

const report = record({
  left: record({
    messages: count,
    tokens,
    byRole: z.record(z.string(), amount),
    byTool: z.record(z.string(), amount),
  }),
  summary: record({ kind: oneOf('text', 'opaque', 'none'), lines: count }),
  counts: byKind(verdicts),
  losses: count,
  foremost,
  items: z.array(judged),
  doneAgain: z.array(repeatedPair),
  behind: repeated,
  compared,
  recovery: record({ edit: optional(way), fresh: optional(way), hasNote: z.boolean() }),
}).meta({ id: 'ForgottenReport' })

const cycle = record({
  conversationId: z.string(),
  cycle: count,
  revision,
  recordedAt: time,
  keys: record({
    program: optional(z.string()),
    version: optional(z.string()),
    trigger: optional(z.string()),
    strategy: optional(z.string()),
  }),
  report,
}).meta({ id: 'ForgottenCycle' })

const total = record({
  compactions: count,
  left: amount,
  losses: count,
  verdicts,
  counts: byKind(verdicts),
  behind: repeated,
  compared,
  recovery: record({ withNote: recoveryGroup, withoutNote: recoveryGroup, fresh: recoveryGroup }),
  uses: record(fieldsFor(USES, optional(count))),
}).meta({ id: 'ForgottenTotal' })
const byValue = z.record(z.string(), total)

/** The result of `forgotten`, with all its cycles. */
export const forgotten = record({
  conversations: count,
  totals: record({
    all: total,
    by: record({ program: byValue, version: byValue, trigger: byValue, strategy: byValue }),
  }),
  cycles: z.array(cycle),
}).meta({ id: 'Forgotten' })
