/** Calls that record messages and read contexts. */
import type { MessageInput } from '../../domain/values/chat-message.js'
import { VIEWS } from '../../domain/values/view-names.js'
import { call, option, required, type OptionsOf } from '../call.js'
import { checkedBy, flag, moment, name, oneOf, revision, unchecked, wholeNumber } from '../option-values.js'
import { actor, configuration, request, wait } from './common.js'
import type { SeenCompaction } from './transcripts.js'

const expectedRevision = () => ({
  expectedRevision: option(
    'Expected revision of the conversation’s last event; -1 for a new conversation. If it has another one, nothing is recorded (`RevisionNotExpected`). Repeating an append that is already recorded is no conflict',
    revision('must be a revision (a whole number, 0 or more), or -1 for a new conversation', true),
  ),
})

/** Records messages. */
export const append = call('append', {
  writes: true,
  options: () => ({
    ...configuration(),
    ...request(),
    ...expectedRevision(),
    atomic: option(
      'If true, the messages are one unit: if some of their ids are already recorded and others are not, nothing is appended (`PartlyRecorded`). Every message needs an id',
      flag(),
    ),
  }),
})

/** Another program's compaction of a conversation that the ledger manages. */
export const amendingCompaction = call('compaction', {
  options: () => ({
    program: required('The program that made the context, by its name', name()),
    programVersion: option('Its version', name()),
    sourceId: required('Distinguishes it from the program’s other compactions of this conversation', name()),
    trigger: option(
      'What started the compaction. Default: `unknown`',
      oneOf(['auto', 'manual', 'overflow', 'unknown'], "must be 'auto', 'manual', 'overflow' or 'unknown'"),
    ),
    summary: option(
      'The summary that replaced messages. Default: `opaque`, a form that only the provider can read',
      unchecked<SeenCompaction['summary']>(),
    ),
    context: option(
      'The program’s message list directly after the compaction. Default: the appended messages, the summary first',
      checkedBy<SeenCompaction['context']>((given) => (Array.isArray(given) ? undefined : 'must be a list')),
    ),
  }),
})

/** Withdraws messages and appends replacements. */
export const amend = call('amend', {
  writes: true,
  options: () => ({
    withdraw: required(
      'Ids of the messages to withdraw, or `all`. A cycle that compacted one of them is undone first',
      checkedBy<readonly string[] | 'all'>((given) =>
        given === 'all' || Array.isArray(given) ? undefined : "must be a list of ids of messages, or 'all'",
      ),
    ),
    append: option('Replacements, appended after all messages that remain', unchecked<readonly MessageInput[]>()),
    compaction: option(
      'A compaction by another program, recorded before the appended messages as an event of its own (`CompactionObserved`). It removes nothing from the context by itself',
      unchecked<OptionsOf<typeof amendingCompaction>>(),
    ),
    ...expectedRevision(),
    ...request(),
  }),
})

/** Excludes a message from compaction. */
export const pin = call('pin', { writes: true, options: request })
/** Ends a pin. */
export const unpin = call('unpin', { writes: true, options: request })

/** Records a host's list and compacts if due. */
export const compress = call('compress', { writes: true, options: actor })

/** The context to send to the model. */
export const context = call('context', {
  options: () => ({
    ...wait(),
    at: option('The moment. Default: now', moment()),
    view: option(
      'View of the compacted part. Default: the recorded view, which the model received. With another view, `hash` differs from that of the recorded context, which `inForce` names',
      oneOf(VIEWS),
    ),
  }),
})

/** The messages that no batch covers. */
export const messages = call('messages', {
  options: () => ({ ...wait(), at: option('The moment. Default: now', moment()) }),
})

/** A handle of one conversation. */
export const conversation = call('conversation', {
  options: () => ({
    hitCharacters: option('Characters of one hit; the whole message is in the log. Default 2,000', wholeNumber(1)),
    answerCharacters: option(
      'Characters of all hits of an answer together. Default 16,000, about 4,000 tokens',
      wholeNumber(1),
    ),
    ...actor(),
  }),
})

/** The context of a handle. */
export const chatContext = call('context', {
  options: () => ({
    ...wait(),
    api: option(
      'The API whose messages to return. Default `openai`',
      oneOf(['openai', 'responses', 'anthropic', 'aiSdk']),
    ),
  }),
})
