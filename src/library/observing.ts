/**
 * Observations of another program while it runs, for instance by a proxy between the program and its model. They are
 * recorded like an import of its transcript, and the context stays the program's own.
 */
import { either as E } from 'fp-ts'
import type { Command } from '../domain/decide/index.js'
import type { ObservedEntry } from '../domain/events/index.js'
import { checkId } from '../domain/values/ids.js'
import {
  bodyOf,
  contentSchema,
  type MessageBody,
  type MessageInput,
  type NewMessage,
} from '../domain/values/message.js'
import { parseMessage, tooManyValues } from '../domain/values/parse-message.js'
import { modelWindow } from '../ports/model-windows.js'
import type { Clock } from '../ports/clock.js'
import type { Conversations } from '../application/recording/handle-command.js'
import * as calls from '../schema/calls/transcripts.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { Transcripts } from './ledger.js'
import type { Observation, SeenCompaction } from './ledger-observation.js'
import type { AppendResult } from './ledger-options.js'
import type { Lookup } from './lookup.js'
import { bad, nameGiven, nameOf } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'
import type { ProvenanceOf } from './provenance.js'

export interface ObservingParts extends Pick<LedgerParts, 'policy' | 'estimator'> {
  readonly clock: Clock
  readonly conversations: Conversations
  readonly summarizerWindowTokens: number
  readonly gate: Gate
  readonly freshness: Freshness
  readonly lookup: Pick<Lookup, 'existing'>
  readonly provenanceOf: ProvenanceOf
}

const parsed = (field: string, input: MessageInput): NewMessage =>
  valueOf(parseMessage(input), (left) => problem({ ...left, field: `${field}.${left.field}` }))

function contentOf(field: string, content: MessageInput['content']): MessageBody['content'] {
  const readFrom = contentSchema.safeParse(content ?? null)
  if (!readFrom.success) throw bad(field, 'must be a text, content parts or null')
  const large = tooManyValues({ content })
  if (large !== undefined) throw bad(field, large.detail)
  return readFrom.data
}

/** An entry of a program's list, in the form of events. */
export function entryOf(entry: SeenCompaction['context'][number], at: number): ObservedEntry {
  const field = `compaction.context[${String(at)}]`
  // oxlint-disable-next-line typescript/no-unnecessary-condition -- JavaScript callers may pass anything
  if (typeof entry !== 'object' || entry === null) throw bad(field, 'must be { messageId } or { inserted }')
  if ('messageId' in entry) return { kind: 'message', messageId: nameGiven(`${field}.messageId`, entry.messageId) }
  if (entry.isSummary !== undefined && typeof entry.isSummary !== 'boolean')
    throw bad(`${field}.isSummary`, 'must be true or false')
  const body = bodyOf(parsed(`${field}.inserted`, entry.inserted))
  return { kind: 'inserted', body, ...(entry.isSummary === undefined ? {} : { isSummary: entry.isSummary }) }
}

/** What an observation records, in its order. */
function commandsOf(observation: Observation, where: string, now: string): Command[] {
  const { program, programVersion, withdrawn = [], edited = [], compaction, messages = [], unreadable } = observation
  const commands: Command[] = []
  if (withdrawn.length > 0) commands.push({ type: 'WithdrawMessages', messageIds: withdrawn, why: 'rewound' })
  for (const [at, { messageId, content, why }] of edited.entries())
    commands.push({
      type: 'EditContribution',
      edit: { messageId, content: contentOf(`edited[${String(at)}].content`, content), why, where: { file: where } },
    })
  if (compaction !== undefined)
    commands.push({
      type: 'ObserveCompaction',
      compaction: {
        program,
        ...(programVersion === undefined ? {} : { programVersion }),
        sourceId: nameOf('compaction.sourceId', compaction.sourceId),
        trigger: compaction.trigger,
        at: now,
        summary: compaction.summary,
        unknown: [],
        context: compaction.context.map(entryOf),
        told: {},
        where: { file: where },
      },
    })
  if (messages.length > 0)
    commands.push({
      type: 'AppendMessages',
      messages: messages.map((message, at) => parsed(`messages[${String(at)}]`, message)),
      now,
    })
  if (unreadable !== undefined)
    commands.push({
      type: 'NoteDamage',
      damage: {
        detail: nameOf('unreadable.detail', unreadable.detail),
        where: {
          file: where,
          ...(unreadable.path === undefined ? {} : { path: nameOf('unreadable.path', unreadable.path) }),
        },
      },
    })
  return commands
}

export function createObserving(parts: ObservingParts): Pick<Transcripts, 'observe'> {
  const { conversations, clock, gate, freshness, lookup, provenanceOf, summarizerWindowTokens, estimator } = parts
  return {
    async observe(conversationId, observation, options): Promise<AppendResult> {
      const { policy: settings, scope, ...by } = gate.enter(calls.observe, options)
      const observed = gate.enter(calls.observation, observation)
      const { program, programVersion, where = 'proxy', sourceId = conversationId } = observed
      const commands = commandsOf(observed, where, clock.now().toISOString())
      freshness.follow()
      valueOf(checkId('conversationId', conversationId), problem)
      const beginning: Command[] = [
        {
          type: 'Configure',
          settings: settings === undefined && parts.policy === undefined ? undefined : { ...parts.policy, ...settings },
          scope,
          summarizerWindowTokens,
          modelWindow,
          estimator,
        },
        {
          type: 'ObserveConversation',
          conversation: {
            program,
            ...(programVersion === undefined ? {} : { programVersion }),
            sourceId,
            where: { file: where },
          },
        },
      ]
      // An unreadable answer changes no context, so the conversation may be the ledger's own.
      const isDamage = commands.length > 0 && commands.every(({ type }) => type === 'NoteDamage')
      if (isDamage) await lookup.existing(conversationId)
      const handled = await conversations.handle(
        conversationId,
        isDamage ? commands : [...beginning, ...commands],
        provenanceOf(by),
      )
      if (E.isLeft(handled)) throw problem(handled.left)
      freshness.noteRecorded(handled.right)
      const { state, events, position } = handled.right
      return {
        conversationId,
        revision: state.revision,
        recorded: events.flatMap((event) => (event.type === 'MessageAppended' ? [event.data.messageId] : [])),
        position,
      }
    },
  }
}
