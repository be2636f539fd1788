/** Transcripts that other machines read and send. */
import { isLedgerError } from '../../../lib/ledger-error.js'
import { problem } from '../../../library/problem.js'
import { withoutUndefined } from '../../../lib/without-undefined.js'
import { scopeWithin } from '../access.js'
import type { Handlers } from '../service.js'
import type { UploadPart } from '../uploads.js'

/** The handlers. */
export const transcriptHandlers = {
  async pushTranscript({ uploads, bounds, recorded: countRecorded }, { body, raw, access }) {
    const { upload, offset, program, writtenAt } = body
    // As received, because parsed values have the keys of parts and calls in another order.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema of the route accepts only items
    const { items } = raw as Pick<UploadPart, 'items'>
    const scope = scopeWithin(access, body.scope)
    let conversationId = ''
    const options = withoutUndefined({
      from: program,
      scope,
      actor: access.actor,
      allows: async (each: string) => {
        conversationId = each
        await bounds.check(access, each, true)
      },
    })
    const name = JSON.stringify([access.keyId, upload, program, scope])
    const bytes = JSON.stringify(items).length
    const result = await uploads
      .take({ name, offset, items, bytes, writtenAt, options })
      .catch((error: unknown): never => {
        // Another process began the conversation in another scope, a moment ago.
        if (isLedgerError(error, 'ScopeChanged') && access.bound !== undefined)
          throw problem({ kind: 'NoSuchConversation', conversationId })
        throw error
      })
    countRecorded(result.conversations.reduce((sum, { messages }) => sum + messages, 0))
    const conversations = result.conversations.map(({ position, ...conversation }) => ({
      ...conversation,
      position: position === undefined ? undefined : access.positions.encode(position),
    }))
    return { body: { ...result, conversations } }
  },
} satisfies Partial<Handlers>
