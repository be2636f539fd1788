/** What happened, and why: the log, cycles, differences, origins, proofs. */
import { z } from 'zod'
import { at, cursor, cycle, limit, next, ofConversation, report, revision, time, wait } from './fields.js'
import { accepted } from './jobs.js'
import { route } from './route.js'

/** A fact, as it was recorded. */
const fact = z
  .looseObject({
    type: z.string(),
    data: z.looseObject({}),
    stream: z.string(),
    revision,
    position: revision,
    id: z.string(),
    metadata: z.looseObject({ recordedAt: time, actor: z.string(), hash: z.string(), previousHash: z.string() }),
  })
  .meta({ id: 'Fact' })

/** Every fact of a conversation. */
export const getLog = route({
  id: 'getLog',
  method: 'get',
  path: '/v1/conversations/{conversation}/log',
  summary: 'Every fact of a conversation, oldest first, page by page',
  roles: ['audit'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object({
    from: revision.optional().meta({ description: 'The first revision to give' }),
    cursor,
    limit: limit(1_000, 100),
    direction: z.enum(['forwards', 'backwards']).optional(),
  }),
  answer: z.object({ conversationId: z.string(), facts: z.array(fact), next }).meta({ id: 'Log' }),
})

/** Cycles of a conversation. */
export const listCompactions = route({
  id: 'listCompactions',
  method: 'get',
  path: '/v1/conversations/{conversation}/compactions',
  summary:
    'The cycles of a conversation, oldest first, page by page: those of ours and of the program that it was read from',
  roles: ['read', 'audit', 'operate'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object({ cursor, limit: limit(1_000, 100) }),
  answer: z
    .object({
      conversationId: z.string(),
      compactions: z.array(
        z
          .looseObject({
            kind: z.enum(['pruned', 'observed', 'undone', 'failed']),
            cycle: z.int().optional(),
            revision,
            recordedAt: time,
            tokensBefore: z.int().optional(),
            tokensAfter: z.int().optional(),
          })
          .meta({ id: 'CompactionRecord' }),
      ),
      next,
    })
    .meta({ id: 'Compactions' }),
})

/** Compacts. */
export const compact = route({
  id: 'compact',
  method: 'post',
  path: '/v1/conversations/{conversation}/compactions',
  summary: 'Compacts now, as a job. Without `force` only where the context is at its limit',
  roles: ['operate'],
  reach: 'conversation',
  params: ofConversation,
  headers: { prefer: '`wait=SECONDS`: answers when the job has ended, or after so long' },
  body: z.strictObject({ force: z.boolean().optional() }).meta({ id: 'Compact' }),
  answer: accepted,
  status: 202,
})

/** Takes cycles back. */
export const undo = route({
  id: 'undo',
  method: 'post',
  path: '/v1/conversations/{conversation}/undo',
  summary: 'Puts the messages of the cycles from `cycle` to the last one back into the window',
  roles: ['operate'],
  reach: 'conversation',
  params: ofConversation,
  body: z.strictObject({ cycle: z.int().min(1), correlationId: z.string().min(1).optional() }).meta({ id: 'Undo' }),
  answer: report('Undone', {}),
})

/** What changed. */
export const diff = route({
  id: 'diff',
  method: 'get',
  path: '/v1/conversations/{conversation}/diff',
  summary: 'What changed between two moments, or across a cycle',
  roles: ['audit'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object({ from: at.optional(), to: at.optional(), cycle: cycle.optional(), ...wait }),
  answer: report('Difference', { conversationId: z.string() }),
})

/** Why. */
export const explain = route({
  id: 'explain',
  method: 'post',
  path: '/v1/conversations/{conversation}/explanations',
  summary:
    'Why the model saw what it saw: the tree of a batch, of the batch that has a line, or of all that is compacted',
  roles: ['read', 'audit'],
  reach: 'conversation',
  params: ofConversation,
  body: z
    .strictObject({
      batchId: z.string().min(1).optional(),
      line: z.string().min(1).optional(),
      open: z.boolean().optional(),
    })
    .meta({ id: 'Explain' }),
  answer: report('Explanation', { kind: z.string() }),
})

/** What compactions forgot. */
export const forgotten = route({
  id: 'forgotten',
  method: 'get',
  path: '/v1/conversations/{conversation}/forgotten',
  summary: 'What the compactions of a conversation forgot, cycle by cycle',
  roles: ['audit'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object({ cycle: cycle.optional() }),
  answer: report('Forgotten', {
    conversations: z.int(),
    totals: z.looseObject({}),
    cycles: z.array(z.looseObject({})),
  }),
})

/** What compactions forgot, everywhere. */
export const forgottenAll = route({
  id: 'forgottenAll',
  method: 'post',
  path: '/v1/forgotten',
  summary: 'What the compactions of all conversations forgot, as a job',
  roles: ['audit'],
  reach: 'ledger',
  headers: { prefer: '`wait=SECONDS`: answers when the job has ended, or after so long' },
  answer: accepted,
  status: 202,
})

/** What a conversation came to. */
export const stats = route({
  id: 'stats',
  method: 'get',
  path: '/v1/conversations/{conversation}/stats',
  summary: 'What a conversation came to: tokens bought and saved, cost by model, failures, time',
  roles: ['audit', 'operate'],
  reach: 'conversation',
  params: ofConversation,
  answer: report('TotalStats', {}),
})

/** What all conversations came to. */
export const statsAll = route({
  id: 'statsAll',
  method: 'post',
  path: '/v1/stats',
  summary: 'What all conversations came to, one by one and together, as a job',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  headers: { prefer: '`wait=SECONDS`: answers when the job has ended, or after so long' },
  body: z
    .strictObject({
      prices: z.record(z.string(), z.unknown()).optional(),
      conversationId: z.string().min(1).optional().meta({ description: 'One alone, by these prices' }),
    })
    .meta({ id: 'StatsAsked' }),
  answer: accepted,
  status: 202,
})

/** Proves one. */
export const verify = route({
  id: 'verify',
  method: 'post',
  path: '/v1/conversations/{conversation}/verifications',
  summary: 'Proves that nothing of a conversation was lost, as a job',
  roles: ['audit', 'operate'],
  reach: 'conversation',
  params: ofConversation,
  headers: { prefer: '`wait=SECONDS`: answers when the job has ended, or after so long' },
  answer: accepted,
  status: 202,
})

/** Proves all. */
export const verifyAll = route({
  id: 'verifyAll',
  method: 'post',
  path: '/v1/verifications',
  summary: 'Proves that nothing of the ledger was lost, as a job',
  roles: ['audit', 'operate'],
  reach: 'ledger',
  headers: { prefer: '`wait=SECONDS`: answers when the job has ended, or after so long' },
  answer: accepted,
  status: 202,
})
