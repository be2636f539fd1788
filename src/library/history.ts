/** The past of a conversation: its facts, what changed, why the model saw what it saw, what it came to. */
import { findBatches } from '../../projections/read-models/clip-archive/queries.js'
import { conversationsOfLog } from '../application/recording/conversation-streams.js'
import { CONVERSATION_PREFIX, conversationStream } from '../domain/values/ids.js'
import { parseMoment } from '../domain/values/moment.js'
import { differenceAcross, differenceBetween } from '../application/history/difference.js'
import { explain } from '../application/history/explain.js'
import type { ExplainDependencies } from '../application/history/explain-batch.js'
import { forgottenIn } from '../application/losses/cycles.js'
import { stats } from '../application/history/stats.js'
import { entriesOf } from '../application/recall/entries.js'
import { compareWithContext } from '../application/recall/context-comparison.js'
import { NOTE_TOKENS } from '../domain/values/recall-note.js'
import { noteOf } from '../application/recall/note.js'
import { statedRules } from '../application/recall/stated-rules.js'
import { totalForgotten, type Counted } from '../application/losses/totals.js'
import type { LostCount } from '../ports/lost-counts.js'
import { revisionOf } from '../application/history/time-travel.js'
import { decodeEvent } from '../application/recording/read-event.js'
import * as calls from '../schema/calls/history.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { Admin, At, Ledger } from './ledger.js'
import type { Lookup } from './lookup.js'
import { bad } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'

export interface HistoryParts extends Pick<
  LedgerParts,
  'log' | 'db' | 'clock' | 'prices' | 'lostCounts' | 'tallies' | 'onProblem'
> {
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Lookup
}

/** One conversation, as all those that are counted. */
async function* only(lookup: Lookup, conversationId: string): AsyncIterable<string> {
  await lookup.isThere(conversationId)
  yield conversationId
}

const forgottenCall =
  ({ log, lostCounts, gate, lookup, onProblem }: HistoryParts): Ledger['forgotten'] =>
  async (conversationId, options) => {
    const { cycle, onCycle } = gate.enter(calls.forgotten, options)
    if (cycle !== undefined) {
      if (conversationId === undefined) throw bad('cycle', 'goes with a conversation')
      const state = await lookup.existing(conversationId)
      if (state.cycles === 0) throw problem({ kind: 'CycleNotRecorded', conversationId, cycle, last: undefined })
    }
    const counted: Counted[] = []
    let conversations = 0
    for await (const id of conversationId === undefined ? conversationsOfLog(log) : only(lookup, conversationId)) {
      let last: LostCount | undefined
      for await (const found of forgottenIn(log, id, { cycle })) {
        await onCycle?.(found)
        last = { revision: found.revision, lost: (last?.lost ?? 0) + found.report.losses }
        // Totals need the counts alone, and of all conversations there may be many.
        counted.push({ keys: found.keys, report: { ...found.report, items: [] } })
      }
      if (last === undefined) continue
      conversations += 1
      // The report does not depend on the cache.
      if (cycle === undefined) await lostCounts.remember(id, last).catch(onProblem)
    }
    return { conversations, totals: totalForgotten(counted) }
  }

/** Finds the revision of a moment; the error names the field. */
const createRevisionAt =
  ({ log, clock }: Pick<HistoryParts, 'log' | 'clock'>) =>
  async (conversationId: string, field: string, at: At): Promise<number> => {
    const moment = valueOf(parseMoment(field, at), problem)
    return valueOf(await revisionOf(log, conversationId, moment, clock.now()), problem)
  }

const recallCall = ({ log, clock, gate, lookup }: HistoryParts): Ledger['recall'] => {
  const revisionAt = createRevisionAt({ log, clock })
  return async (conversationId, options) => {
    const { at, tokens = NOTE_TOKENS, rules = [] } = gate.enter(calls.recall, options)
    await lookup.isThere(conversationId)
    const until = at === undefined ? undefined : await revisionAt(conversationId, 'at', at)
    const missing = await compareWithContext(log, conversationId, until)
    const note = noteOf(entriesOf(missing, rules), tokens, [], missing.summary.kind === 'opaque')
    const unfit = rules.length - note.entries.filter(({ revision }) => revision === undefined).length
    if (unfit > 0) throw bad('tokens', `leaves no room for ${String(unfit)} of ${String(rules.length)} rules`)
    const { revision, compactions } = missing
    return { conversationId, revision, compactions, ...note, statedRules: statedRules(missing.before) }
  }
}

const diffCall = ({ log, clock, gate, freshness, lookup }: HistoryParts): Ledger['diff'] => {
  const revisionAt = createRevisionAt({ log, clock })
  return async (conversationId, given) => {
    const input = gate.enter(calls.diff, given)
    await freshness.waitForLog(input)
    const { revision: head } = await lookup.existing(conversationId)
    if (input.cycle !== undefined) return valueOf(await differenceAcross(log, conversationId, input.cycle), problem)
    const from = await revisionAt(conversationId, 'from', input.from ?? head)
    const to = input.to === undefined ? head : await revisionAt(conversationId, 'to', input.to)
    return valueOf(await differenceBetween(log, conversationId, from, to), problem)
  }
}

const logCall = ({ log, gate, lookup }: HistoryParts): Ledger['log'] =>
  async function* readLog(conversationId, options) {
    const range = gate.enter(calls.log, options)
    await lookup.isThere(conversationId)
    for await (const stored of log.store.readStream(conversationStream(conversationId), range))
      yield await decodeEvent(stored, log)
  }

const followCall = ({ log, gate }: HistoryParts): Admin['follow'] =>
  async function* followEvents(options) {
    const { after = -1, untilHead = false, signal } = gate.enter(calls.follow, options)
    const ended = new AbortController()
    const signals = [ended.signal, gate.closed, ...(signal === undefined ? [] : [signal])]
    const input = {
      after: after === 'head' ? await log.store.head() : after,
      prefix: CONVERSATION_PREFIX,
      signal: AbortSignal.any(signals),
    }
    try {
      for await (const item of log.store.subscribe(input)) {
        if (item.kind === 'event') yield { kind: 'event', event: await decodeEvent(item.event, log) }
        else yield item
        if (untilHead && item.kind === 'caught-up') return
      }
    } finally {
      ended.abort()
    }
  }

const explainCall = ({ log, db, gate, lookup }: HistoryParts): Ledger['explain'] => {
  const dependencies: ExplainDependencies = {
    log,
    // Rows are only a hint. If there are none, or they cannot be read, the log is read instead. Batches of an
    // edition are in its own stream.
    placeOf: async (conversationId, batchId) =>
      (await findBatches(db, conversationId, [batchId]).catch(() => [])).find(
        ({ editionId }) => editionId === undefined,
      ),
  }
  return async (conversationId, options) => {
    const request = gate.enter(calls.explain, options)
    return valueOf(await explain(dependencies, await lookup.existing(conversationId), request), problem)
  }
}

const statsCall =
  ({ log, gate, lookup, tallies, onProblem, prices: ownPrices }: HistoryParts): Admin['stats'] =>
  async (conversationId, options) => {
    const { prices = ownPrices, onConversation } = gate.enter(calls.stats, options)
    if (conversationId !== undefined) await lookup.isThere(conversationId)
    return await stats(log, {
      conversationId,
      cache: { tallies, onProblem },
      prices,
      onConversation,
    })
  }

export const createHistory = (parts: HistoryParts) => ({
  calls: {
    forgotten: forgottenCall(parts),
    recall: recallCall(parts),
    diff: diffCall(parts),
    log: logCall(parts),
    explain: explainCall(parts),
  },
  admin: { follow: followCall(parts), stats: statsCall(parts) },
})
