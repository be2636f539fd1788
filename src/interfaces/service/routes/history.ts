/** The history of conversations: the log, cycles, differences, origins, losses, statistics, verification. */
import { withoutUndefined } from '../../../lib/without-undefined.js'
import type { RecordedEvent } from '../../../domain/events/index.js'
import type { ConversationStats, Forgotten, ForgottenCycle, Ledger } from '../../../library/ledger.js'
import type { Immutable } from '../../../schema/answer.js'
import type { AnswerOf } from '../../../schema/index.js'
import { cursorOf, numberOf } from '../cursors.js'
import { Refused } from '../problems.js'
import type { Handlers } from '../service.js'

const PAGE = 100
/** Events that one page of cycles looks through. */
const LOOKED_THROUGH = 20_000

type CompactionRecord = Immutable<AnswerOf<'listCompactions'>['compactions'][number]>

/** An event about a compaction, as lists show it. */
function compactionOf({ type, data, revision, metadata: { recordedAt } }: RecordedEvent): CompactionRecord | undefined {
  const at = { revision, recordedAt }
  if (type === 'MessagesPruned')
    return {
      kind: 'pruned',
      ...at,
      cycle: data.cycle,
      trigger: data.why.trigger,
      tokensBefore: data.tokensBefore,
      tokensAfter: data.tokensAfter,
      messages: data.pruned.reduce((sum, { messageIds }) => sum + messageIds.length, 0),
      batchIds: data.pruned.map(({ batchId }) => batchId),
    }
  if (type === 'CompactionObserved')
    return { kind: 'observed', ...at, program: data.program, trigger: data.trigger, ...data.told }
  if (type === 'CycleUndone') return { kind: 'undone', ...at, undone: data.undone }
  return type === 'CompactionFailed' ? { kind: 'failed', ...at, failure: data.failure, detail: data.detail } : undefined
}

/** The loss report with all its cycles. */
async function forgottenWithCycles(
  ledger: Ledger,
  conversationId: string | undefined,
  cycle: number | undefined,
  onEach: () => void = () => undefined,
): Promise<Forgotten & { readonly cycles: readonly ForgottenCycle[] }> {
  const cycles: ForgottenCycle[] = []
  const onCycle = (found: ForgottenCycle): void => {
    cycles.push(found)
    onEach()
  }
  return { ...(await ledger.forgotten(conversationId, withoutUndefined({ cycle, onCycle }))), cycles }
}

const nextOf = (revision: number | undefined): { readonly next?: string } =>
  revision === undefined ? {} : { next: cursorOf(String(revision)) }

/** The handlers. */
export const historyHandlers = {
  async getLog({ ledger }, { params: { conversation }, query: { from, cursor, limit = PAGE, direction }, access }) {
    if (from !== undefined && cursor !== undefined)
      throw new Refused('BadRequest', 'from goes with the first page alone', { field: 'from' })
    const facts: RecordedEvent[] = []
    let next: number | undefined
    const first = numberOf(cursor) ?? from
    for await (const event of ledger.log(
      conversation,
      withoutUndefined({ from: first, limit: limit + 1, direction }),
    )) {
      if (facts.length < limit) facts.push({ ...event, position: access.positions.encode(event.position) })
      else next = event.revision
    }
    return { body: { conversationId: conversation, facts, ...nextOf(next) } }
  },

  async listCompactions({ ledger }, { params: { conversation }, query: { cursor, limit = PAGE } }) {
    const compactions: CompactionRecord[] = []
    let eventsRead = 0
    let next: number | undefined
    for await (const event of ledger.log(conversation, withoutUndefined({ from: numberOf(cursor) }))) {
      if (compactions.length === limit || eventsRead === LOOKED_THROUGH) {
        next = event.revision
        break
      }
      eventsRead += 1
      const compaction = compactionOf(event)
      if (compaction !== undefined) compactions.push(compaction)
    }
    return { body: { conversationId: conversation, compactions, ...nextOf(next) } }
  },

  async forgotten({ ledger }, { params: { conversation }, query: { cycle } }) {
    return { body: await forgottenWithCycles(ledger, conversation, cycle) }
  },

  async forgottenAll({ ledger, jobs }, { headers, access }) {
    return await jobs.start('forgottenAll', { access, prefer: headers['prefer'] }, ({ progress, signal }) => {
      let cycles = 0
      return forgottenWithCycles(ledger, undefined, undefined, () => {
        signal.throwIfAborted()
        cycles += 1
        progress({ cycles })
      })
    })
  },

  async statsAll({ ledger, jobs }, { body: { prices, conversationId }, headers, access }) {
    return await jobs.start('statsAll', { access, prefer: headers['prefer'] }, async ({ progress, signal }) => {
      const conversations: ConversationStats[] = []
      const onConversation = (stats: ConversationStats): void => {
        signal.throwIfAborted()
        conversations.push(stats)
        progress({ conversations: conversations.length })
      }
      const total = await ledger.admin.stats(conversationId, { ...withoutUndefined({ prices }), onConversation })
      return { conversations, total }
    })
  },

  async verifyAll({ ledger, jobs }, { body: { checkpoint }, headers, access }) {
    return await jobs.start('verifyAll', { access, prefer: headers['prefer'] }, ({ progress, signal }) =>
      ledger.admin.verify(undefined, {
        ...(checkpoint === undefined ? {} : { checkpoint: withoutUndefined(checkpoint) }),
        onProgress: progress,
        onStream: async () => {
          signal.throwIfAborted()
        },
      }),
    )
  },
} satisfies Partial<Handlers>
