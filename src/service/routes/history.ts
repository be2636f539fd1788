/** What happened, and why: the log, cycles, differences, origins, proofs. */
import { withoutUndefined } from '../../lib/without-undefined.js'
import type { RecordedEvent } from '../../domain/events/index.js'
import type { ConversationStats, ForgottenCycle } from '../../library/ledger.js'
import { cursorOf, numberOf } from '../cursors.js'
import { Refused } from '../problems.js'
import type { Handlers, Parts } from '../service.js'

const PAGE = 100
/** Facts that one page of cycles looks through. */
const LOOKED_THROUGH = 20_000

/** A fact about a compaction, as lists show it. */
function compactionOf({ type, data, revision, metadata: { recordedAt } }: RecordedEvent): object | undefined {
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

/** The handlers. */
export function historyHandlers({
  ledger,
  jobs,
}: Parts): Handlers<
  | 'getLog'
  | 'listCompactions'
  | 'compact'
  | 'undo'
  | 'diff'
  | 'explain'
  | 'forgotten'
  | 'forgottenAll'
  | 'stats'
  | 'statsAll'
  | 'verify'
  | 'verifyAll'
> {
  async function forgottenOf(
    conversationId: string | undefined,
    cycle: number | undefined,
    heard: (cycle: ForgottenCycle) => void = () => undefined,
  ): Promise<object> {
    const cycles: ForgottenCycle[] = []
    const onCycle = (found: ForgottenCycle): void => {
      cycles.push(found)
      heard(found)
    }
    return { ...(await ledger.forgotten(conversationId, withoutUndefined({ cycle, onCycle }))), cycles }
  }

  return {
    async getLog({ params: { conversation }, query: { from, cursor, limit = PAGE, direction } }) {
      if (from !== undefined && cursor !== undefined)
        throw new Refused('BadRequest', 'from goes with the first page alone', { field: 'from' })
      const facts: RecordedEvent[] = []
      let next: bigint | undefined
      const begin = numberOf(cursor) ?? from
      for await (const fact of ledger.log(
        conversation,
        withoutUndefined({ from: begin, limit: limit + 1, direction }),
      )) {
        if (facts.length < limit) facts.push(fact)
        else next = fact.revision
      }
      return {
        body: {
          conversationId: conversation,
          facts,
          ...(next === undefined ? {} : { next: cursorOf(String(next)) }),
        },
      }
    },

    async listCompactions({ params: { conversation }, query: { cursor, limit = PAGE } }) {
      const compactions: object[] = []
      let eventsRead = 0
      let next: bigint | undefined
      for await (const fact of ledger.log(conversation, withoutUndefined({ from: numberOf(cursor) }))) {
        if (compactions.length === limit || eventsRead === LOOKED_THROUGH) {
          next = fact.revision
          break
        }
        eventsRead += 1
        const compaction = compactionOf(fact)
        if (compaction !== undefined) compactions.push(compaction)
      }
      return {
        body: {
          conversationId: conversation,
          compactions,
          ...(next === undefined ? {} : { next: cursorOf(String(next)) }),
        },
      }
    },

    async compact({ params: { conversation }, body: { force }, headers, access }) {
      // Report a missing conversation now instead of in a job.
      await ledger.messages(conversation)
      const jobOptions = { access, conversationId: conversation, prefer: headers['prefer'] }
      return await jobs.start('compact', jobOptions, () =>
        ledger.compact(conversation, withoutUndefined({ force, actor: access.actor })),
      )
    },

    async undo({ params: { conversation }, body, access: { actor } }) {
      return { body: await ledger.undo(conversation, withoutUndefined({ ...body, actor })) }
    },

    async diff({ params: { conversation }, query: { from, to, cycle, ...wait } }) {
      if (cycle === undefined && from === undefined)
        throw new Refused('BadRequest', 'from is missing: a moment, or a cycle in its place', { field: 'from' })
      if (cycle !== undefined && (from !== undefined || to !== undefined))
        throw new Refused('BadRequest', 'cycle goes without from and to', { field: 'cycle' })
      const options = cycle !== undefined ? { cycle } : { from: from ?? '', ...withoutUndefined({ to }) }
      return { body: await ledger.diff(conversation, { ...options, ...withoutUndefined(wait) }) }
    },

    async explain({ params: { conversation }, body }) {
      return { body: await ledger.explain(conversation, withoutUndefined(body)) }
    },

    async forgotten({ params: { conversation }, query: { cycle } }) {
      return { body: await forgottenOf(conversation, cycle) }
    },

    async forgottenAll({ headers, access }) {
      return await jobs.start('forgottenAll', { access, prefer: headers['prefer'] }, ({ progress, signal }) => {
        let cycles = 0
        return forgottenOf(undefined, undefined, () => {
          signal.throwIfAborted()
          cycles += 1
          progress({ cycles })
        })
      })
    },

    async stats({ params: { conversation } }) {
      return { body: await ledger.stats(conversation) }
    },

    async statsAll({ body: { prices, conversationId }, headers, access }) {
      return await jobs.start('statsAll', { access, prefer: headers['prefer'] }, async ({ progress, signal }) => {
        const conversations: ConversationStats[] = []
        const total = await ledger.stats(conversationId, {
          // The ledger says what is wrong with a table.
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion
          ...(withoutUndefined({ prices }) as object),
          onConversation: (stats) => {
            signal.throwIfAborted()
            conversations.push(stats)
            progress({ conversations: conversations.length })
          },
        })
        return { conversations, total }
      })
    },

    async verify({ params: { conversation }, headers, access }) {
      // Report a missing conversation now instead of in a job.
      for await (const _fact of ledger.log(conversation, { limit: 1 })) break
      const jobOptions = { access, conversationId: conversation, prefer: headers['prefer'] }
      return await jobs.start('verify', jobOptions, ({ progress }) =>
        ledger.verify(conversation, { onProgress: progress }),
      )
    },

    async verifyAll({ headers, access }) {
      return await jobs.start('verifyAll', { access, prefer: headers['prefer'] }, ({ progress, signal }) =>
        ledger.verify(undefined, {
          onProgress: progress,
          onStream: async () => {
            signal.throwIfAborted()
          },
        }),
      )
    },
  }
}
