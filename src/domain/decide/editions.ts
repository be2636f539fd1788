/** Events of an edition's own stream: it starts, is compared and is dropped. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { Configuration, EventData } from '../events/index.js'
import type { Decision } from './decision.js'

export interface StartEdition {
  readonly type: 'StartEdition'
  readonly configuration: Configuration
  readonly summarizer: EventData<'EditionStarted'>['summarizer']
  readonly conversationRevision: number
  readonly pinned: readonly number[]
}

export interface DropEdition {
  readonly type: 'DropEdition'
}

export interface RecordComparison {
  readonly type: 'RecordComparison'
  readonly report: EventData<'EditionCompared'>
}

export function startEdition(state: Conversation, command: StartEdition): Decision {
  const { editionId, conversationId } = state
  if (editionId === undefined) throw new Error('an edition begins in a stream of its own')
  const { configuration, summarizer, conversationRevision, pinned } = command
  return E.right([
    {
      type: 'EditionStarted',
      data: { editionId, conversationId, configuration, summarizer, conversationRevision, pinned: [...pinned] },
    },
  ])
}

export const dropEdition = (state: Conversation, _command: DropEdition): Decision =>
  E.right([{ type: 'EditionDropped', data: { editionId: state.editionId ?? '' } }])

export const recordComparison = (_state: Conversation, { report }: RecordComparison): Decision =>
  E.right([{ type: 'EditionCompared', data: report }])
