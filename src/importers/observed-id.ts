/** The ids of conversations of other programs. */
import { either as E } from 'fp-ts'
import { hashOf } from '../domain/values/hash.js'
import { checkId } from '../domain/values/ids.js'

/** The ledger's conversation id for a conversation of a program. */
export const observedConversationId = (program: string, sourceId: string): string => {
  const id = `${program}/${sourceId}`
  return E.isRight(checkId('conversationId', id)) ? id : `${program}/${hashOf(sourceId).slice(0, 32)}`
}
