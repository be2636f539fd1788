/** Calls about the past of a conversation. */
import type { GivenCheckpoint } from '../../application/proof/types.js'
import type { VerifyProgress } from '../../application/audit/verify.js'
import type { ConversationStats } from '../../application/history/stats.js'
import type { ForgottenCycle } from '../../application/losses/cycles.js'
import type { Manifest, StreamHead } from '../../ports/manifest.js'
import { isRevision } from '../../domain/values/revision.js'
import { LEAST_NOTE_TOKENS, NOTE_TOKENS } from '../../domain/values/recall-note.js'
import { call, option, required } from '../call.js'
import {
  awaitedListener,
  checkedBy,
  cycleNumber,
  flag,
  listener,
  moment,
  name,
  oneOf,
  priceTable,
  recordedName,
  revision,
  signal,
  text,
  wholeFrom,
  wholeNumber,
} from '../option-values.js'
import { actor, request, wait } from './common.js'

/** Compacts now. */
export const compact = call('compact', {
  writes: true,
  options: () => ({
    force: option('If true, compacts all that the policy allows, even if the context is below its limit', flag()),
    ...actor(),
  }),
})

/** Undoes cycles. */
export const undo = call('editions.undo', {
  writes: true,
  options: () => ({
    cycle: required('Number of the first cycle to undo. All later cycles are undone too', cycleNumber()),
    ...request(),
  }),
})

/** The changes between two moments, or across a cycle. */
export const diff = call('diff', {
  options: () => ({
    ...wait(),
    from: option('The first moment', moment()),
    to: option('The second moment. Default: now', moment()),
    cycle: option('A cycle, from directly before it to directly after it, in place of moments', cycleNumber()),
  }),
  check: ({ from, to, cycle }) =>
    from === undefined && cycle === undefined
      ? { field: 'from', detail: 'is missing: a moment, or a cycle in its place' }
      : cycle !== undefined && (from !== undefined || to !== undefined)
        ? { field: 'cycle', detail: 'goes without from and to' }
        : undefined,
})

/** The events of a conversation. */
export const log = call('log', {
  options: () => ({
    from: option('The first revision', revision('must be a revision (a whole number, 0 or more)')),
    limit: option('Maximum number of events', wholeNumber(0)),
    direction: option(
      '`backwards` reads the newest event first, starting at `from` (default: the last event). Default `forwards`',
      oneOf(['forwards', 'backwards']),
    ),
  }),
})

/** A subscription to all events. */
export const follow = call('admin.follow', {
  options: () => ({
    after: option(
      'Events after this position. Default -1: from the first event. `head`: events recorded from now on',
      checkedBy<number | 'head'>((given) =>
        given === 'head' || given === -1 || isRevision(given)
          ? undefined
          : "must be a position (a whole number, 0 or more, or -1 for the start), or 'head'",
      ),
    ),
    untilHead: option('If true, ends at the current last event and does not wait for new ones', flag()),
    signal: option('Ends the subscription without an error', signal()),
  }),
})

/** Traces summaries back to messages. */
export const explain = call('explain', {
  options: () => ({
    batchId: option('Id of a batch, or its beginning', name()),
    line: option(
      'Any text that the model saw, or a part of it',
      text().refine((line) => line.trim() !== '', 'is empty'),
    ),
    open: option('Includes the original messages in full', flag()),
  }),
  check: ({ batchId, line }) =>
    batchId !== undefined && line !== undefined
      ? { field: 'line', detail: 'goes without a batchId: explain one of the two' }
      : undefined,
})

/** Reports what compactions lost. */
export const forgotten = call('forgotten', {
  options: () => ({
    cycle: option('Only cycles with this number. Requires a conversation', cycleNumber()),
    onCycle: option(
      'Called with each cycle, oldest first within a conversation. A returned promise is awaited',
      awaitedListener<[cycle: ForgottenCycle]>(),
    ),
  }),
})

/** Makes a note for an agent after a compaction. */
export const recall = call('recall', {
  options: () => ({
    at: option(
      'The note for the context at this moment: a revision, a time, or the id of a message. Default: now',
      moment(),
    ),
    tokens: option(
      `The most tokens of the note, estimated. Default ${String(NOTE_TOKENS)}`,
      wholeFrom(LEAST_NOTE_TOKENS, `must be a whole number of at least ${String(LEAST_NOTE_TOKENS)}`),
    ),
    rules: option(
      'Rules that the note begins with, whatever the conversation says. They must fit into the limit',
      checkedBy<readonly string[]>((given) =>
        Array.isArray(given) && given.every((rule) => typeof rule === 'string' && rule.trim() !== '')
          ? undefined
          : 'must be a list of texts',
      ),
    ),
  }),
})

/** Statistics. */
export const stats = call('admin.stats', {
  options: () => ({
    prices: option('Prices by model name; they override those of the ledger', priceTable()),
    onConversation: option(
      'Called with each conversation as soon as it is counted. A returned promise is awaited',
      awaitedListener<[stats: ConversationStats]>(),
    ),
  }),
})

/** Verifies conversations. */
export const verify = call('admin.verify', {
  options: () => ({
    onProgress: option('Called with the progress', listener<[progress: VerifyProgress]>()),
    onStream: option(
      'Called with each stream after it was read; the returned promise is awaited',
      checkedBy<(head: StreamHead) => Promise<void>>((given) =>
        typeof given === 'function' ? undefined : 'must be a function',
      ),
    ),
    against: option(
      'An earlier manifest: every stream must exist, be at least as long, and have the same events',
      checkedBy<Pick<Manifest, 'header' | 'heads'>>((given) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each part is checked
        const manifest = given as Partial<Manifest> | null
        return typeof manifest?.heads === 'function' && typeof manifest.header?.origin === 'object'
          ? undefined
          : 'must be a manifest: an object with `header` and `heads`'
      }),
    ),
    checkpoint: option(
      'An earlier checkpoint: every event that it covers must be the same, in the same order',
      checkedBy<GivenCheckpoint>((given) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its part is checked
        const checkpoint = given as Partial<GivenCheckpoint> | null
        return typeof checkpoint?.note === 'string'
          ? undefined
          : 'must be an object with the text of a signed checkpoint as `note`'
      }),
    ),
  }),
})

/** Finds secrets in recorded events. */
export const scanSecrets = call('admin.secrets.scan', {
  options: () => ({
    conversationId: option('Only this conversation. Default: all', recordedName()),
    onConversation: option(
      'Called after each conversation, with the number of conversations so far',
      listener<[done: number]>(),
    ),
  }),
})
